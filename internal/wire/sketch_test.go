package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/wire"
)

const sketched = "Go through all the ropes of the northern quay, and write down which of them are worn and must be replaced before winter."

func TestGramsAreFoundWhateverStandsAround(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	grams := d.Grams([]byte(sketched))
	if len(grams) != 23-6+1 {
		t.Errorf("%d grams, want one for each run of six words", len(grams))
	}
	for name, text := range map[string]string{
		"around":      "Please do this:\n\n" + sketched + "\n\nReport back.",
		"line breaks": strings.ReplaceAll(sketched, " ", "\n"),
		"case, marks": strings.ToUpper(strings.ReplaceAll(sketched, ",", " —")),
	} {
		all := d.Grams([]byte(text))
		for _, g := range grams {
			if !slices.Contains(all, g) {
				t.Errorf("%s: a gram is missing", name)
				break
			}
		}
	}
	for name, other := range map[string][]uint64{
		"another tenant": wire.NewDigester([]byte("l"), nil).Grams([]byte(sketched)),
		"another order":  d.Grams([]byte(backwards(sketched))),
	} {
		if slices.ContainsFunc(other, func(g uint64) bool { return slices.Contains(grams, g) }) {
			t.Errorf("%s has a gram in common", name)
		}
	}
	if got := d.Grams([]byte("Only five words are here")); got != nil {
		t.Errorf("a short text has %d grams", len(got))
	}
	if got := len(d.Grams([]byte("手边准备一个备用件"))); got != 9-6+1 {
		t.Errorf("%d grams of nine characters, want each to be a word", got)
	}
	if got := len(d.Grams([]byte(strings.Repeat("word ", 1<<20)))); got > 32<<10 {
		t.Errorf("%d grams of a huge text", got)
	}
}

func TestPassageIsTheLongestPartBetweenMarks(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	want := d.Grams([]byte(sketched))
	for name, text := range map[string]string{
		"alone":     sketched,
		"a summary": "<analysis>\nOne two three four five six seven.\n</analysis>\n\n<summary>\n" + sketched + "\n</summary>",
	} {
		if diff := cmp.Diff(want, d.Passage([]byte(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, text := range []string{"a < b and c > d is no mark at all", "2<3 and 4>3 are sums that hold for all"} {
		if diff := cmp.Diff(d.Grams([]byte(text)), d.Passage([]byte(text))); diff != "" || d.Passage([]byte(text)) == nil {
			t.Errorf("%q is cut: %s", text, diff)
		}
	}
}

func TestMannerLeavesClocksOut(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	one, two := d.Manner([]byte("You are kind. It is 09:03:59 now.")), d.Manner([]byte("You are kind. It is 17:40:02 now."))
	if diff := cmp.Diff(one, two); diff != "" || len(one) == 0 {
		t.Errorf("a clock counts:\n%s", diff)
	}
	if cmp.Equal(one, d.Manner([]byte("You are a pirate. It is 09:03:59 now."))) {
		t.Error("two manners are one")
	}
}

func TestWording(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	one, n := d.Wording([]byte("Run the tests"))
	same, _ := d.Wording([]byte("  run THE\ntests! "))
	other, _ := d.Wording([]byte("Run the tests again"))
	if n != 3 || one != same || one == other {
		t.Errorf("wording of %d words: %x, %x, %x", n, one, same, other)
	}
	if none, n := d.Wording([]byte("?! <b>")); none != 0 || n != 0 {
		t.Errorf("no words: %x, %d", none, n)
	}
}

func TestHanded(t *testing.T) {
	t.Parallel()
	arguments := `{"title":"look","prompt":"Find it","more":[{"task":"And that"}],"command":"ls -l","content":"a file"}`
	want := []string{"look", "Find it", "And that"}
	for name, tt := range map[string]struct {
		answer string
		want   []string
	}{
		"chat":      {fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":%q}}]}`, arguments), want},
		"messages":  {`{"role":"assistant","content":[{"type":"text","text":"Now"},{"type":"tool_use","id":"c","name":"t","input":` + arguments + `}]}`, want},
		"responses": {fmt.Sprintf(`[{"type":"message","content":[{"type":"output_text","text":"Now"}]},{"type":"function_call","call_id":"c","name":"t","arguments":%q}]`, arguments), want},
		"one item":  {fmt.Sprintf(`{"type":"function_call","call_id":"c","name":"t","arguments":%q}`, arguments), want},
		"free text": {`{"type":"custom_tool_call","call_id":"c","name":"t","input":"Find it"}`, []string{"Find it"}},
		"no calls":  {`{"role":"assistant","content":"Find it"}`, nil},
		"no JSON":   {`{"role":"assistant","content":`, nil},
	} {
		var got []string
		for _, text := range wire.Handed([]byte(tt.answer)) {
			got = append(got, string(text))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"role":"assistant","content":"<think>hm</think>\n\nYes."}`:                                                                                                                "\n\nYes.",
		`{"role":"user","content":[{"type":"text","text":"a<system-reminder>x</system-reminder>"},{"type":"image"},{"type":"text","text":"b"}]}`:                                    "a\nb",
		`[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"one"}]},{"type":"message","content":[{"type":"output_text","text":"two"}]}]`: "one\ntwo",
		`"as it is"`: "as it is",
		`{}`:         "",
	} {
		if got := string(wire.Text([]byte(message))); got != want {
			t.Errorf("Text(%s) = %q, want %q", message, got, want)
		}
	}
}

func backwards(text string) string {
	words := strings.Fields(text)
	slices.Reverse(words)
	return strings.Join(words, " ")
}

package console_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/console"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, text, line, lines string }{
		{"words stay", "a  b\nc\td", "a b c d", "a  b\nc\td"},
		{"every script stays", "日本 עברית 👩‍💻", "日本 עברית 👩‍💻", "日本 עברית 👩‍💻"},
		{"an escape sequence is shown", "\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇", "␛[31mred␛]0;title␇"},
		{"C1 controls do the same in one character", "\u009b31m\u0090", "�31m�", "�31m�"},
		{"a return would overwrite the line", "safe\revil", "safe evil", "safe␍evil"},
		{"line ends of Windows", "a\r\nb", "a b", "a\nb"},
		{"backspace and delete", "a\b\x7f", "a␈␡", "a␈␡"},
		{"marks that turn the direction", "a\u202eb\u2066c\u200f", "a�b�c�", "a�b�c�"},
		{"separators of Unicode", "a\u2028b", "a b", "a�b"},
		{"bytes that are no text", "a\xff\x9bb", "a�b", "a�b"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			if got := console.Line(row.text); got != row.line {
				t.Errorf("Line = %q, want %q", got, row.line)
			}
			if got := console.Text(row.text); got != row.lines {
				t.Errorf("Text = %q, want %q", got, row.lines)
			}
		})
	}
}

func TestCleanTakesPieces(t *testing.T) {
	t.Parallel()
	const text = "日本\x1b[2J\u009bJ\n\tend 👩"
	const want = "日本␛[2J�J\n\tend 👩"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := console.Clean(&out)
		for at := 0; at < len(text); at += size {
			if _, err := io.WriteString(w, text[at:min(at+size, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Fatalf("in pieces of %d: %q (%v), want %q", size, out.String(), err, want)
		}
	}
}

func TestJSONStaysTheSameValue(t *testing.T) {
	t.Parallel()
	raw := []byte("{\"a\":\"<\u009b\x7f\u202e日\\u001b>\",\"n\":1.50,\"empty\":[]}\n")
	var out bytes.Buffer
	if err := console.JSON(&out, raw); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": \"<\\u009b\\u007f\\u202e日\\u001b>\",\n  \"n\": 1.50,\n  \"empty\": []\n}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	var before, after any
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("value (-before +after):\n%s", diff)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b[31mred\u009b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, out := range []string{console.Line(text), console.Text(text)} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q is no UTF-8", out)
			}
			for _, r := range out {
				if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
					t.Fatalf("%q holds %U", out, r)
				}
			}
		}
	})
}

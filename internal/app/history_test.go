package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// talk builds a chat body of alternating questions and answers, the last one a question.
func talk(texts ...string) string {
	var list []string
	for i, text := range texts {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	return `{"model":"fake-1","messages":[` + strings.Join(list, ",") + `]}`
}

func TestHistoryIsStoredOnce(t *testing.T) {
	t.Parallel()
	up := upstreamtest.New(t)
	up.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		return upstreamtest.Reply{Text: "  answer number " + fmt.Sprint(strings.Count(string(r.Body()), `"role"`)) + " with words. "}
	})
	p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL))
	for name, alter := range map[string]func(answer string) string{
		"as it came":     func(a string) string { return a },
		"trimmed":        strings.TrimSpace,
		"another wrap":   func(a string) string { return strings.ReplaceAll(a, " with", "\nwith") },
		"cut":            func(a string) string { return a[:9] },
		"another answer": func(string) string { return "I never said that" },
	} {
		t.Run("a client that resends answers "+name, func(t *testing.T) {
			t.Parallel()
			var sent, want []string
			for i := range 6 {
				question := fmt.Sprintf("question %d", i%4) // some come twice
				sent = append(sent, question)
				r := p.call("POST", "/v1/chat/completions", talk(sent...), "X-Session-Id", "talk "+name).want(200)
				answer := fmt.Sprint(r.get("choices", 0, "message", "content"))
				sent = append(sent, alter(answer))
				want = append(want, "user: "+question, "assistant: "+answer)
			}
			if got := p.texts("talk " + name); !slices.Equal(got, want) {
				t.Errorf("messages %q, want %q", got, want)
			}
		})
	}
}

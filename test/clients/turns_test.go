//go:build linux

package clients_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
	"mooring/test/product"
)

// exchange is one turn as its user sees it.
type exchange struct{ prompt, answer string }

func conversation() []exchange {
	return []exchange{
		{"Name a falcon of the harbour.", "A kestrel, seen at dawn."},
		{"And one that wades?", "A heron, seen at dusk."},
		{"And one that dives?", "A cormorant, seen at noon."},
	}
}

// knowing answers each question with its own words, whoever asks, and whatever else the client put around it.
func knowing(t *testing.T) *upstreamtest.Server {
	t.Helper()
	upstream := upstreamtest.NewWith(t, upstreamtest.Options{Models: []string{"fake-1", "claude-sonnet-4-5", "gpt-5"}})
	upstream.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		for _, e := range slices.Backward(conversation()) {
			if bytes.Contains(r.Body(), []byte(e.prompt)) {
				return upstreamtest.Reply{Text: e.answer}
			}
		}
		return upstreamtest.Reply{Text: "Nothing was asked."}
	})
	return upstream
}

// TestTurns: a conversation is one session, though each turn is a process of its own, and though Mooring is another process
// at the third one.
func TestTurns(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			need(t)
			upstream, r := knowing(t), newRoom(t)
			s := binary.Serve(t, product.Upstream(upstream.URL))
			command, said := w.first, []string(nil)
			for i, e := range conversation() {
				if i == 2 {
					s = s.Restart(t)
				}
				if got := r.run(t, s, w, with(command, e.prompt)...); !strings.Contains(got, e.answer) {
					t.Errorf("turn %d: stdout = %q, want %q in it", i+1, got, e.answer)
				}
				command, said = w.next, append(said, e.prompt, e.answer)
				all := sessions(t, s)
				if len(all) != 1 {
					t.Fatalf("sessions after turn %d = %d, want 1:\n%s", i+1, len(all), describe(t, s))
				}
				if got := s.Texts(t, all[0].ID); !holds(got, said) {
					t.Errorf("messages after turn %d = %q, want %q in this order", i+1, got, said)
				}
			}
		})
	}
}

func with(command []string, prompt string) []string { return append(slices.Clone(command), prompt) }

// holds says whether the texts contain those wanted, in their order.
func holds(texts, want []string) bool {
	for _, text := range texts {
		if len(want) > 0 && strings.Contains(text, want[0]) {
			want = want[1:]
		}
	}
	return len(want) == 0
}

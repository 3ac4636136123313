package identify_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/store/sqlite"
)

// saying gives a text of a grammar: words, long answers, summaries, tasks, what is no text at all.
func saying(b byte) string {
	texts := []string{
		"hi", "yes", "ok, and then?", longA, longB, "Summarise our conversation so far so that another assistant can continue.", "Suggest a short title for this conversation, as JSON.",
		"<summary>\n" + longA + "\n</summary>", "Look through the repository for every place where the rope is used, and give me file and line of each, nothing else.", "…", "/new", "图",
	}
	return texts[int(b)%len(texts)]
}

// asking makes one request of three bytes, over what its chat has said so far.
func asking(a, b, c byte, said []string) ask {
	q := ask{tenant: []mooring.Tenant{"acme", "globex"}[a&1], answer: saying(c >> 4)}
	if q.answer == "…" {
		q.answer = `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"task","arguments":"{\"prompt\":\"` + saying(8) + `\"}"}}]}`
	}
	names := []string{"", "", "", "X-Session-Id", "X-Session-Affinity", "X-Claude-Code-Session-Id", "X-Chat-Id", "X-Mine"}
	if name := names[a>>1&7]; name != "" {
		q.header = header(name, []string{"s1", uuidA, uuidB, "null"}[a>>4&3])
	}
	if a&0x40 != 0 {
		q.body = `"stream":true,"tools":[{"type":"function","function":{"name":"task"}}],`
	}
	if a&0x80 != 0 {
		q.talk = []string{"s: You are of use."}
	}
	keep := said
	if b&1 != 0 && len(said) > 2 {
		keep = said[len(said)-2:] // what is old is left out
	}
	if b&2 != 0 && len(said) > 1 {
		keep = said[:len(said)/2] // a branch
	}
	if b&4 != 0 {
		keep = nil
	}
	q.talk = append(append(q.talk, keep...), "u: "+saying(b>>4))
	return q
}

func line(answer string) string {
	if strings.HasPrefix(answer, "{") {
		return answer
	}
	return "a: " + answer
}

// place is what is found of a request, in words that do not depend on made ids.
func placeOf(f *identify.Finding) string {
	if f.New {
		return fmt.Sprint("new ", f.Identity, f.Kind, f.Known.Relation, f.Known.Parent)
	}
	return fmt.Sprint(f.Known.ID, f.Identity, f.Kind, f.Known.Relation, f.Known.Parent)
}

// FuzzResolve takes two tenants' requests of all kinds through an engine: none fails, none takes more than four reads, none reaches
// another tenant's session, and a cold engine says of each what the warm one said.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{0, 0x30, 0x40, 0, 0x20, 0x30, 0, 0x50, 0x30, 0, 0x74, 0x40})
	f.Add([]byte{0x40, 0, 0x90, 0x40, 0x84, 0x40, 1, 0x34, 0x40, 0x48, 0x24, 0x10})
	f.Add([]byte{6, 0, 0x30, 0x18, 0x24, 0x40, 8, 0x30, 0x30, 0x28, 1, 0x40, 0x2a, 2, 0x40})
	f.Add([]byte{0x0e, 0x10, 0x30, 0x1e, 0x14, 0x40, 0x2e, 0x24, 0x30, 0x0e, 0x60, 0x30})
	f.Fuzz(func(t *testing.T, script []byte) {
		store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "mooring.db"), BlobKey: secret})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		h := &house{tb: t, store: &counted{Store: store}}
		h.cold()
		owner := map[mooring.SessionID]mooring.Tenant{}
		chats := [4][]string{}
		for i := 0; i+2 < len(script) && i < 36; i += 3 {
			n := int(script[i]&1)<<1 | int(script[i+1]>>3&1)
			q := asking(script[i], script[i+1], script[i+2], chats[n])
			warm := h.engine
			first, err := warm.Resolve(t.Context(), q.decode(t))
			if err != nil {
				t.Fatalf("request %d: %v", i/3, err)
			}
			h.cold()
			if second := h.resolve(q); placeOf(second) != placeOf(first) {
				t.Fatalf("request %d of %q: warm %s, cold %s", i/3, q.talk, placeOf(first), placeOf(second))
			}
			if script[i+2]&1 == 0 {
				h.engine = warm
			}
			got := h.turn(q)
			if got.reads > 4 {
				t.Errorf("request %d of %q took %d reads", i/3, q.talk, got.reads)
			}
			for _, s := range []mooring.SessionID{got.Known.ID, got.Known.Parent, got.Known.Root} {
				if s == "" {
					continue
				}
				if was, known := owner[s]; known && was != q.tenant {
					t.Fatalf("request %d of %s is in a session of %s", i/3, q.tenant, was)
				}
				owner[s] = q.tenant
			}
			chats[n] = append(q.talk, line(q.answer))
		}
	})
}

package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"mooring/internal/upstreamtest"
)

// search asks once and gives session, role and message of what is found; nothing waits for the index but the search itself.
func (p *product) search(q string, hs ...string) (found []string, r *reply) {
	p.t.Helper()
	r = p.call(http.MethodGet, "/api/search?limit=100&q="+url.QueryEscape(q), "", hs...).want(http.StatusOK)
	list, _ := r.get("results").([]any)
	for i := range list {
		found = append(found, fmt.Sprint(r.get("results", i, "session_id"), " ", r.get("results", i, "role"), " ", r.get("results", i, "message_id")))
	}
	return found, r
}

func holds(found []string, session, role string) bool {
	return slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, session+" "+role+" ") })
}

// indexed waits until the index holds every turn: a busy machine may not index in the time that a search waits for it.
func indexed(t *testing.T, p *product, q string) {
	t.Helper()
	eventually(t, "an index that holds all turns", func() bool {
		_, r := p.search(q)
		return r.get("degraded") == false
	})
}

// C153, C155: a turn that its client saw end is found at once, by whatever was typed.
func TestSearchFindsAFinishedTurn(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		up := upstreamtest.New(t)
		up.AlwaysFunc(func(*upstreamtest.Request) upstreamtest.Reply {
			return upstreamtest.Reply{Text: "The Bollard, 東京都庁のとなり"}
		})
		p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL)+store)
		for i, q := range []string{
			"#123", "src/main.py", "don't", "50%", "bob@example.com", "ok?", "$5", "a,b", "TODO: fix", "multi-agent", "--force", "GB/s", "C++",
			"foo::bar", "用户身份", "テスト", "세션", "สวัสดี", "港", "🚀", "👨‍👩‍👧", "NEAR(", `"quoted phrase"`, "'; DROP TABLE sessions; --", "CAFÉ",
		} {
			r := p.stream(fmt.Sprint("s", i), "please look at "+q+" for me").want(http.StatusOK)
			indexed(t, p, q)
			found, page := p.search(q)
			if !holds(found, r.session(), "user") || page.get("degraded") != false {
				t.Errorf("%q: found %v, degraded %v", q, found, page.get("degraded"))
			}
			found, page = p.search("bollard 京都")
			if !holds(found, r.session(), "assistant") || !strings.Contains(fmt.Sprint(page.get("results", 0, "snippet")), "京都") {
				t.Errorf("answer %d: found %v", i, found)
			}
		}
		for _, q := range []string{"", " ", "\x00", "\xff\xfe", "((((", "^", strings.Repeat("x", 5000), "zeppelin"} {
			if found, page := p.search(q); len(found) != 0 || page.get("degraded") != false {
				t.Errorf("%.20q: found %v, degraded %v", q, found, page.get("degraded"))
			}
		}
	})
}

// C121: an edit leaves its old branch, and both are found, each by its own message.
func TestSearchSeesAllBranches(t *testing.T) {
	t.Parallel()
	up := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL))
	p.call("POST", "/v1/chat/completions", talk("one walrus"), "X-Session-Id", "edit").want(200)
	first := p.call("POST", "/v1/chat/completions", talk("one walrus", "ok", "two okapi"), "X-Session-Id", "edit").want(200)
	p.call("POST", "/v1/chat/completions", talk("one walrus", "ok", "two tapir"), "X-Session-Id", "edit").want(200)
	for _, word := range []string{"okapi", "tapir"} {
		found, r := p.search(word)
		if len(found) == 0 || !holds(found, first.session(), "user") {
			t.Fatalf("%s: found %v", word, found)
		}
		id := fmt.Sprint(r.get("results", -1, "message_id"))
		branch := p.call("GET", "/api/sessions/edit/messages?tip="+id, "").want(200)
		if text := fmt.Sprint(branch.get("messages", -1, "text")); !strings.Contains(text, word) {
			t.Errorf("%s: the branch of %s ends in %q", word, id, text)
		}
	}
}

// C163: two messages of one moment are two results, in the same order every time.
func TestSearchKeepsMessagesOfOneMoment(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		up := upstreamtest.New(t)
		p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL)+store)
		body := `{"model":"fake-1","messages":[{"role":"user","content":"gannet one"},{"role":"user","content":"gannet two"}]}`
		p.call("POST", "/v1/chat/completions", body, "X-Session-Id", "s").want(200)
		first, _ := p.search("gannet")
		second, _ := p.search("gannet")
		users := slices.DeleteFunc(slices.Clone(first), func(f string) bool { return !strings.Contains(f, " user ") })
		if len(users) != 2 || users[0] == users[1] || !slices.Equal(first, second) {
			t.Errorf("found %v, then %v; want two messages, twice", first, second)
		}
	})
}

// A process that is killed right after an answer has had no time for its index; the next one has it.
func TestSearchAfterAKill(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		up := upstreamtest.New(t)
		p := startChild(t, "upstreams:\n"+upstreamYAML("up", up.URL)+store)
		var made []string
		for i := range 20 {
			made = append(made, p.chat(fmt.Sprint("s", i), fmt.Sprintf("a cormorant%d", i)).want(200).session())
		}
		p.kill()
		p.spawn()
		indexed(t, p, "cormorant")
		for i, session := range made {
			found, r := p.search(fmt.Sprintf("cormorant%d", i))
			if !holds(found, session, "user") || r.get("degraded") != false {
				t.Errorf("turn %d: found %v, degraded %v", i, found, r.get("degraded"))
			}
		}
	})
}

// What one tenant says no other one finds, by message, title or key.
func TestSearchStaysInItsTenant(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		up := upstreamtest.New(t)
		hash := func(key string) string {
			sum := sha256.Sum256([]byte(key))
			return "sha256:" + hex.EncodeToString(sum[:])
		}
		p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL, "key: none")+
			fmt.Sprintf("keys:\n  - {name: a, tenant: acme, hash: %q}\n  - {name: b, tenant: globex, hash: %q}\n", hash("key-a"), hash("key-b"))+store)
		own := p.chat("shared-name", "alpha walrus", "X-Mooring-Key", "key-a").want(200)
		p.chat("other-name", "beta walrus", "X-Mooring-Key", "key-b").want(200)
		found, _ := p.search("walrus", "X-Mooring-Key", "key-a")
		if len(found) == 0 || slices.ContainsFunc(found, func(f string) bool { return !strings.HasPrefix(f, own.session()) }) {
			t.Errorf("found %v, want the own session alone", found)
		}
		for _, q := range []string{"alpha", "lpha", "shared-name", own.session(), "(("} {
			if foreign, _ := p.search(q, "X-Mooring-Key", "key-b"); len(foreign) != 0 {
				t.Errorf("%q: another tenant found %v", q, foreign)
			}
		}
		p.call("GET", "/api/search?q=walrus", "").want(401)
	})
}

// Two replicas index side by side: each finds what the other one took, once.
func TestSearchOnTwoReplicas(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	up := upstreamtest.New(t)
	yaml := "upstreams:\n" + upstreamYAML("up", up.URL) + db.yaml("")
	both := []*product{start(t, yaml), start(t, yaml)}
	var turns sync.WaitGroup
	for i := range 40 {
		turns.Go(func() { both[i%2].chat(fmt.Sprint("s", i), fmt.Sprintf("a cormorant and a gannet%d", i)) })
	}
	turns.Wait()
	for _, p := range both {
		indexed(t, p, "cormorant")
	}
	for i := range 40 {
		found, r := both[(i+1)%2].search(fmt.Sprintf("gannet%d cormorant", i))
		users := slices.DeleteFunc(found, func(f string) bool { return !strings.Contains(f, " user ") })
		if len(users) != 1 || r.get("degraded") != false {
			t.Errorf("turn %d: found %v, degraded %v; want one", i, found, r.get("degraded"))
		}
	}
	for _, p := range both {
		if log := p.log.String(); strings.Contains(log, "search index") {
			t.Errorf("log: %s", log)
		}
	}
}

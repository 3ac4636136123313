package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

func TestNewChat(t *testing.T) {
	t.Parallel()
	t.Run("H-19 H-20 bare: no upstream is asked, the words hold the chat's id", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		for _, stream := range []string{"", `"stream":true,`} {
			r := p.call(http.MethodPost, chatPath, chatBody("/new", stream)).want(http.StatusOK)
			id := r.header.Get("X-Hermes-Session-Id")
			if !strings.HasPrefix(id, "api-") || !strings.Contains(string(r.body), id) || len(u.Posts()) != 0 {
				t.Fatalf("id %q in %s; %d upstream requests", id, r.body, len(u.Posts()))
			}
			if got := r.header.Get("X-Mooring-Upstream"); got != "none" {
				t.Errorf("X-Mooring-Upstream = %q", got)
			}
			if stream != "" && !strings.HasSuffix(string(r.body), "data: [DONE]\n\n") {
				t.Errorf("stream ends with %.80q", r.body)
			}
			if p.call(http.MethodGet, "/api/sessions/"+r.session()+"/turns", "").want(http.StatusOK).get("turns", 0) != nil {
				t.Error("the acknowledgement is a turn")
			}
			if got := [2]any{p.field(r.session(), "relation"), p.field(r.session(), "parent_id")}; got != [2]any{"reset", nil} {
				t.Errorf("relation and parent = %v", got)
			}
			next := p.chat(id, "hello").want(http.StatusOK)
			if next.session() != r.session() || next.header.Get("X-Session-Id") != id {
				t.Errorf("the next turn is in %s, want %s", next.session(), r.session())
			}
			u.Forget()
		}
	})
	t.Run("C118 the key means the fresh session, the old one is reached by its id and keeps its rows", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		c := p.client("X-Session-Id", "t")
		c.say("one")
		old := c.say("two").session()
		fresh := c.say("/new").session()
		c.say("three")
		if diff := cmp.Diff([]string{"user: one", "assistant: This is answer 1.", "user: two", "assistant: This is answer 2."}, p.texts(old)); diff != "" {
			t.Errorf("old session (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"user: three", "assistant: This is answer 3."}, p.texts("t")); diff != "" || p.field("t", "id") != fresh {
			t.Errorf("session of the key (-want +got):\n%s", diff)
		}
		if got := p.field(old, "key"); got == "t" || !strings.HasPrefix(fmt.Sprint(got), "api-") {
			t.Errorf("key of the old session = %v", got)
		}
	})
	t.Run("H-21 with text: one upstream turn of what remains", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		c := p.client("X-Session-Id", "t")
		c.history = []line{{"system", "Be brief."}}
		c.say("one")
		r := c.say("/new   fresh topic  ")
		if diff := cmp.Diff([]string{"system: Be brief.", "user: fresh topic"}, sentTo(t, u)); diff != "" {
			t.Errorf("upstream got (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"user: fresh topic", "assistant: This is answer 2."}, p.texts(r.session())); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		again := c.say("go on")
		if diff := cmp.Diff([]string{"system: Be brief.", "user: fresh topic", "assistant: This is answer 2.", "user: go on"}, sentTo(t, u)); diff != "" || again.session() != r.session() {
			t.Errorf("the turn after it (-want +got):\n%s", diff)
		}
	})
	t.Run("H-16 switched off it is ordinary text", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"sessions: {commands: []}\n")
		c := p.client("X-Session-Id", "t")
		first := c.say("one").session()
		if r := c.say("/new"); r.session() != first || len(sentTo(t, u)) != 3 {
			t.Errorf("session %s, upstream got %v", r.session(), sentTo(t, u))
		}
		if c.say("two"); len(sentTo(t, u)) != 5 {
			t.Errorf("upstream got %v, want the whole history", sentTo(t, u))
		}
	})
	t.Run("H-16 H-25 another protocol, another role: ordinary text", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		first := p.chat("t", "one").session()
		body := `{"model":"fake-1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"/new"}]}`
		if r := p.call(http.MethodPost, chatPath, body, "X-Session-Id", "t").want(http.StatusOK); r.session() != first || string(u.LastPost(t).Body()) != body {
			t.Errorf("session %s, upstream got %s", r.session(), u.LastPost(t).Body())
		}
		c := &client{p: p, path: messagesRoute, headers: []string{"X-Session-Id", "t"}}
		if r := c.say("/new"); r.session() != first {
			t.Errorf("on another route the chat went to %s", r.session())
		}
	})
}

// What was said before the last command is not forwarded, whichever way the client goes on.
func TestBeforeNewChat(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		headers []string
		drop    bool // the client does not keep the command and its acknowledgement
	}{
		"C115 H-22 a client with an id":                              {headers: []string{"X-Session-Id", "t"}},
		"H-22 a client without ids":                                  {},
		"H-22 a client with an id that drops the command":            {headers: []string{"X-Session-Id", "t"}, drop: true},
		"H-22 a client that names its chat in two ways, dropping it": {headers: []string{"X-Session-Id", "t", "X-Conversation-Id", "t"}, drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			c := p.client(of.headers...)
			c.history = []line{{"system", "Be brief."}}
			reset := func() *reply {
				before := len(c.history)
				r := c.say("/new")
				if of.drop {
					c.history = c.history[:before]
				}
				return r
			}
			c.say("ZEBRA-9 one")
			c.say("ZEBRA-9 two")
			ack := reset()
			for i := range 2 {
				r := c.say(fmt.Sprint("fresh ", i))
				if got := strings.Join(sentTo(t, u), "\n"); strings.Contains(got, "ZEBRA-9") || strings.Contains(got, "answer 1.") || !strings.Contains(got, "system: Be brief.") {
					t.Errorf("turn %d: upstream got %s", i, got)
				}
				if r.session() != ack.session() {
					t.Errorf("turn %d is in %s, want %s", i, r.session(), ack.session())
				}
			}
			if got := len(sentTo(t, u)); got != 4 {
				t.Errorf("the second turn sent %d messages, want 4: %v", got, sentTo(t, u))
			}
			p.restart()
			r := c.say("after a restart")
			if got := strings.Join(sentTo(t, u), "\n"); strings.Contains(got, "ZEBRA-9") || !strings.Contains(got, "fresh 0") || r.session() != ack.session() {
				t.Errorf("after a restart: session %s, upstream got %s", r.session(), got)
			}
			second := reset()
			r = c.say("third topic")
			if got := strings.Join(sentTo(t, u), "\n"); strings.Contains(got, "ZEBRA-9") || strings.Contains(got, "fresh") || r.session() != second.session() {
				t.Errorf("after a second reset: session %s, want %s; upstream got %s", r.session(), second.session(), got)
			}
			if diff := cmp.Diff([]string{"user: fresh 0", "assistant: This is answer 3."}, p.texts(ack.session())[:2]); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("H-22 a client that drops the command and has changed its first question", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		c := p.client("X-Session-Id", "t")
		c.say("ZEBRA-9 one, with a reminder")
		c.say("ZEBRA-9 two")
		p.chat("t", "/new").want(http.StatusOK)
		c.history[0].Content = "ZEBRA-9 one"
		for i := range 2 {
			c.say(fmt.Sprint("fresh ", i))
			if got := strings.Join(sentTo(t, u), "\n"); strings.Contains(got, "ZEBRA-9") || !strings.Contains(got, fmt.Sprint("fresh ", i)) {
				t.Errorf("turn %d: upstream got %s", i, got)
			}
		}
	})
	t.Run("a client that begins its history anew keeps what it says twice", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.AlwaysFunc(func(*upstreamtest.Request) upstreamtest.Reply { return upstreamtest.Reply{Text: "hi"} })
		p := start(t, one(u))
		c := p.client("X-Session-Id", "t")
		c.say("hello")
		c.say("/new")
		c.history = nil
		for range 2 {
			c.say("hello")
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: hi", "user: hello"}, sentTo(t, u)); diff != "" {
			t.Errorf("upstream got (-want +got):\n%s", diff)
		}
	})
}

func TestNewChatWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		yaml, stream string
	}{
		"H-23 a stream":                       {"", `"stream":true,`},
		"H-23 a buffered answer":              {"", ""},
		"H-23 where others would be refused":  {"sessions: {concurrency: reject}\n", `"stream":true,`},
		"H-23 where others would have queued": {"sessions: {concurrency: queue}\n", `"stream":true,`},
	} {
		for _, text := range []string{"/new", "/new fresh"} {
			t.Run(name+", "+text, func(t *testing.T) {
				t.Parallel()
				u := upstreamtest.New(t)
				u.Queue(map[bool]upstreamtest.Reply{
					true: {Fault: upstreamtest.Hang}, false: {Text: "early late-words", Fault: upstreamtest.Stall, At: 3},
				}[of.stream == ""])
				p := start(t, one(u)+of.yaml)
				running := make(chan *reply, 1)
				if of.stream == "" {
					go func() { running <- p.call(http.MethodPost, chatPath, chatBody("long task", ""), "X-Session-Id", "t") }()
					if _, err := u.WaitPosts(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					eventually(t, "the old turn is stored", func() bool { return p.sessions() == 1 })
				} else { // before its header is out a stream is refused as a buffered answer is
					l := p.open(chatPath, chatBody("long task", of.stream), "X-Session-Id", "t")
					l.until("early ")
					go func() { running <- l.end() }()
				}
				r := p.chat("t", text).want(http.StatusOK)
				old := <-running
				switch {
				case of.stream == "" && (old.status != http.StatusConflict || old.header.Get("X-Mooring-Error") != "turn_cancelled"):
					t.Errorf("the old request got %d %s", old.status, old.body)
				case of.stream != "" && (!strings.Contains(string(old.body), "turn_cancelled") || !strings.HasSuffix(string(old.body), "data: [DONE]\n\n")):
					t.Errorf("the old stream got %s", old.body)
				}
				var turn any
				for _, id := range p.listed() {
					if id != r.session() {
						turn = p.call(http.MethodGet, "/api/sessions/"+id+"/turns", "").get("turns", 0, "state")
					}
				}
				if turn != "cancelled" {
					t.Errorf("the old turn is %v", turn)
				}
				if next := p.chat("t", "next").want(http.StatusOK); next.session() != r.session() {
					t.Errorf("the next turn is in %s, want %s", next.session(), r.session())
				}
			})
		}
	}
	t.Run("two at once: the chat is on one of them, and its key means one session", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		p.chat("t", "old")
		var group sync.WaitGroup
		fresh := make([]*reply, 8)
		for i := range fresh {
			group.Go(func() { fresh[i] = p.chat("t", "/new") })
		}
		group.Wait()
		next := p.chat("t", "next").want(http.StatusOK)
		found := false
		for _, r := range fresh {
			found = found || r.want(http.StatusOK).session() == next.session()
		}
		if !found || p.field("t", "id") != next.session() {
			t.Errorf("the next turn is in %s, the key means %v", next.session(), p.field("t", "id"))
		}
	})
}

func TestNewChatAtAServerWithState(t *testing.T) {
	t.Parallel()
	t.Run("C117 H-11 the fresh session has an upstream id of its own, a retry and the next turn use it", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u, "state: remote"))
		p.chat("t", "old")
		before := u.LastPost(t).Header.Get("X-Hermes-Session-Id")
		for _, first := range []string{"/new", ""} {
			if first != "" {
				p.chat("t", first).want(http.StatusOK)
			}
			text := map[string]string{"/new": "hello", "": "/new again"}[first]
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
			failed := p.chat("t", text).want(http.StatusInternalServerError)
			id := u.LastPost(t).Header.Get("X-Hermes-Session-Id")
			retry := p.chat("t", text).want(http.StatusOK)
			if got := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); id == before || got != id {
				t.Errorf("%q: upstream ids %q, then %q, then %q on the retry", text, before, id, got)
			}
			if retry.session() != failed.session() || retry.header.Get("X-Mooring-Turn") != failed.header.Get("X-Mooring-Turn") {
				t.Errorf("%q: the retry is turn %s of %s, want %s of %s", text, retry.header.Get("X-Mooring-Turn"), retry.session(),
					failed.header.Get("X-Mooring-Turn"), failed.session())
			}
			next := p.chat("t", "go on").want(http.StatusOK)
			if got := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); got != id || next.session() != retry.session() || next.header.Get("X-Session-Id") != "t" {
				t.Errorf("%q: the next turn is in %s under %q", text, next.session(), got)
			}
			before = id
		}
	})
	t.Run("C124 C125 another system prompt or list of tools is the same session under the same upstream id, and goes through untouched", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u, "state: remote"))
		sessions, ids := map[string]bool{}, map[string]bool{}
		for _, prompt := range []string{"A", "B", "B", "A"} {
			body := fmt.Sprintf(`{"model":"fake-1","tools":[{"type":"function","function":{"name":%q}}],"messages":[{"role":"system","content":%q},{"role":"user","content":"hi"}]}`, prompt, prompt)
			sessions[p.call(http.MethodPost, chatPath, body, "X-Session-Id", "t").want(http.StatusOK).session()] = true
			last := u.LastPost(t)
			ids[last.Header.Get("X-Hermes-Session-Id")] = true
			if string(last.Body()) != body {
				t.Errorf("upstream got %s, want %s", last.Body(), body)
			}
		}
		if len(sessions) != 1 || len(ids) != 1 {
			t.Errorf("%d sessions under %d upstream ids, want one each", len(sessions), len(ids))
		}
	})
	t.Run("C123 an upstream that has forgotten the session is asked again with the id that it answered with", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u, "state: remote"))
		p.chat("t", "one")
		u.Queue(upstreamtest.Reply{Header: http.Header{"X-Hermes-Session-Id": {"made-anew"}}})
		p.chat("t", "two").want(http.StatusOK)
		p.chat("t", "three").want(http.StatusOK)
		if got := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); got != "made-anew" {
			t.Errorf("the third turn went under %q", got)
		}
	})
	t.Run("C127 a message during a slow turn waits for it and goes under the id that the upstream answered with", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u, "state: remote"))
		p.chat("t", "one")
		hold := make(chan struct{})
		u.Queue(upstreamtest.Reply{Hold: hold, Header: http.Header{"X-Hermes-Session-Id": {"compacted"}}})
		var group sync.WaitGroup
		var slow, second *reply
		group.Go(func() { slow = p.chat("t", "summarise") })
		if _, err := u.WaitPosts(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		group.Go(func() { second = p.chat("t", "from another client") })
		close(hold)
		group.Wait()
		if got := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); got != "compacted" || slow.session() != second.session() {
			t.Errorf("the second message went under %q, in %s; want compacted, in %s", got, second.session(), slow.session())
		}
	})
}

func TestRefusedNewChat(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u, "models: [fake-1]"))
	old := p.chat("t", "old").session()
	for rule, body := range map[string]string{
		"H-24 broken JSON":       `{"model":"fake-1","messages":[{"role":"user","content":"/new"}`,
		"H-24 content no text":   `{"model":"fake-1","messages":[{"role":"user","content":{"text":"/new"}}]}`,
		"H-24 a model of nobody": `{"model":"other","messages":[{"role":"user","content":"/new hi"}]}`,
	} {
		if r := p.call(http.MethodPost, chatPath, body, "X-Session-Id", "t"); r.status/100 != 4 {
			t.Errorf("%s: status %d", rule, r.status)
		}
	}
	if r := p.chat("t", "/new", "X-Claude-Session-Id", strings.Repeat("x", 300)); r.status != http.StatusBadRequest {
		t.Errorf("H-24 a bad id: status %d", r.status)
	}
	if r := p.chat("t", "more").want(http.StatusOK); r.session() != old {
		t.Errorf("the chat is on %s, want %s", r.session(), old)
	}
}

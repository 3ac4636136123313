package app_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// A client that sends no id and its whole history each time stays in its session, from the first answer on.
func TestRecognisedByContent(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ path, more string }{
		"chat, buffered":      {chatPath, ""},
		"chat, streamed":      {chatPath, `"stream":true,`},
		"messages, buffered":  {messagesRoute, ""},
		"messages, streamed":  {messagesRoute, `"stream":true,`},
		"responses, buffered": {responsesRoute, ""},
		"responses, streamed": {responsesRoute, `"stream":true,`},
	} {
		t.Run("L-11 L-15 "+name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := startChild(t, one(u))
			a, b := p.client(), p.client()
			a.path, a.more, b.path, b.more = of.path, of.more, of.path, of.more
			first := [2]*reply{a.say("hello"), b.say("hello")}
			if first[0].session() == first[1].session() {
				t.Fatal("two conversations that open alike are one")
			}
			for i := range 4 {
				if i == 2 {
					p.kill()
					p.spawn()
				}
				for n, c := range []*client{a, b} {
					r := c.say(fmt.Sprint("question ", i))
					if r.session() != first[n].session() || r.header.Get("X-Mooring-Identity") != "content:prefix" || r.header.Get("X-Session-Id") != first[n].header.Get("X-Session-Id") {
						t.Errorf("turn %d: %s by %s under %s, want %s", i, r.session(), r.header.Get("X-Mooring-Identity"), r.header.Get("X-Session-Id"), first[n].session())
					}
				}
			}
			if got := p.texts(first[0].session()); len(got) != 10 || p.sessions() != 2 {
				t.Errorf("%d sessions, the first holds %v", p.sessions(), got)
			}
		})
	}
}

func TestRecognisedThoughChanged(t *testing.T) {
	t.Parallel()
	const longReply = "The bollard on the quay holds the rope, the rope holds the boat, and the boat holds the crew that holds the bollard dear."
	for name, of := range map[string]struct {
		path   string
		change func(c *client, turn int) // what the client does to its history before a turn
	}{
		"C006 the cache mark moves to the newest message": {messagesRoute, func(c *client, _ int) {
			for i := range c.history {
				if text, ok := c.history[i].Content.([]map[string]any); ok {
					delete(text[0], "cache_control")
				}
			}
			text := fmt.Sprint(c.history[len(c.history)-1].Content)
			c.history[len(c.history)-1].Content = []map[string]any{{"type": "text", "text": text, "cache_control": map[string]string{"type": "ephemeral"}}}
		}},
		"C011 the clock in the system prompt goes on": {chatPath, func(c *client, turn int) {
			if c.history[0].Role == "system" {
				c.history = c.history[1:]
			}
			c.history = append([]line{{"system", fmt.Sprintf("Current time: 12:%02d", turn)}}, c.history...)
		}},
		"the first question loses a part after its turn": {chatPath, func(c *client, turn int) {
			if turn == 0 {
				c.history[0].Content = "ls\n\nhello"
			} else {
				c.history[0].Content = "hello"
			}
		}},
		"the oldest messages are left out": {chatPath, func(c *client, turn int) {
			if turn == 3 {
				c.history = c.history[4:]
			}
		}},
		"L-14 another model": {chatPath, func(c *client, turn int) { c.more = fmt.Sprintf(`"temperature":%d,`, turn) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			n := 0
			u.AlwaysFunc(func(*upstreamtest.Request) upstreamtest.Reply {
				n++
				return upstreamtest.Reply{Text: fmt.Sprint(n, ". ", longReply)}
			})
			p := start(t, one(u))
			c := p.client()
			c.path = of.path
			sessions := map[string]bool{}
			for turn := range 4 {
				c.history = append(c.history, line{"user", fmt.Sprint("question ", turn)})
				of.change(c, turn)
				r := c.send().want(http.StatusOK)
				c.history = append(c.history, line{"assistant", c.answer(r)})
				sessions[r.session()] = true
			}
			if len(sessions) != 1 || p.sessions() != 1 {
				t.Errorf("%d sessions, want one", p.sessions())
			}
		})
	}
}

func TestNotRecognised(t *testing.T) {
	t.Parallel()
	t.Run("L-16 another tenant's conversation", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+twoKeys())
		p.key = keyA
		a := p.client()
		first := a.say("our plan")
		p.key = keyB
		b := p.client()
		b.history = append(b.history, a.history...)
		if r := b.say("go on"); r.session() == first.session() || r.header.Get("X-Mooring-Identity") != "minted" {
			t.Errorf("session %s by %s", r.session(), r.header.Get("X-Mooring-Identity"))
		}
	})
	t.Run("a short answer that many give proves nothing by itself", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Text: "OK."})
		p := start(t, one(u))
		a, b := p.client(), p.client()
		first := a.say("paint the boat")
		b.history = []line{{"user", "sell the boat"}, {"assistant", "OK."}}
		if r := b.say("go on"); r.session() == first.session() {
			t.Error("a conversation that merely has the same answer is taken for another one")
		}
	})
	t.Run("C-2 match_content: false", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"sessions: {match_content: false}\n")
		c := p.client()
		if a, b := c.say("one"), c.say("two"); a.session() == b.session() {
			t.Error("a request without ids is recognised")
		}
	})
	t.Run("two twins are two, whoever goes on first", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Text: "Hello!"})
		p := start(t, one(u))
		a, b := p.client(), p.client()
		a.say("hi")
		b.say("hi")
		second := [2]*reply{a.say("paint it"), b.say("sell it")}
		if second[0].session() == second[1].session() || p.sessions() != 2 {
			t.Errorf("%d sessions, turns in %s and %s", p.sessions(), second[0].session(), second[1].session())
		}
		u.Always(upstreamtest.Reply{Text: "Done."})
		for i := range 2 {
			for n, c := range []*client{a, b} {
				if r := c.say(fmt.Sprint("again ", i)); r.session() != second[n].session() {
					t.Errorf("turn %d of chat %d is in %s, want %s", i, n, r.session(), second[n].session())
				}
			}
		}
	})
}

func TestEditWithoutIDs(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	c := p.client()
	first := c.say("one")
	c.say("two")
	whole := c.history
	c.history = append([]line{}, whole[:2]...)
	if r := c.say("two, but better"); r.session() != first.session() {
		t.Errorf("L-12 an edit is in %s, want %s", r.session(), first.session())
	}
	c.history = append([]line{}, whole[:3]...)
	if r := c.send().want(http.StatusOK); r.session() != first.session() {
		t.Errorf("L-12 an answer asked for again is in %s, want %s", r.session(), first.session())
	}
	if got := p.sessions(); got != 1 {
		t.Errorf("%d sessions", got)
	}
}

// Responses are found by the ids of earlier answers, which are their tenant's.
func TestFollowedAnswers(t *testing.T) {
	t.Parallel()
	body := func(more string) string { return `{"model":"fake-1","input":"go on"` + more + `}` }
	id := func(r *reply) string { return fmt.Sprint(r.get("id")) }
	t.Run("C002 an answer's id leads to its session and its upstream, also after a crash", func(t *testing.T) {
		t.Parallel()
		a, b := upstreamtest.New(t), upstreamtest.New(t)
		p := startChild(t, two(a, b))
		first := p.call(http.MethodPost, responsesRoute, body("")).want(http.StatusOK)
		home, _, _ := strings.Cut(first.header.Get("X-Mooring-Upstream"), ";")
		p.kill()
		p.spawn()
		previous := first
		for i := range 4 {
			r := p.call(http.MethodPost, responsesRoute, body(fmt.Sprintf(`,"previous_response_id":%q`, id(previous)))).want(http.StatusOK)
			if r.session() != first.session() || r.header.Get("X-Mooring-Identity") != "response:previous_response_id" || r.header.Get("X-Mooring-Upstream") != home+"; pin=hit" {
				t.Errorf("turn %d: %s by %s at %s", i, r.session(), r.header.Get("X-Mooring-Identity"), r.header.Get("X-Mooring-Upstream"))
			}
			previous = r
		}
		older := p.call(http.MethodPost, responsesRoute, body(fmt.Sprintf(`,"previous_response_id":%q`, id(first)))).want(http.StatusOK)
		if older.session() != first.session() {
			t.Errorf("an older answer's id leads to %s", older.session())
		}
		if got := p.texts(first.session()); len(got) != 4 {
			t.Errorf("the branch from the older answer holds %v, want 4 messages", got)
		}
		unknown := p.call(http.MethodPost, responsesRoute, body(`,"previous_response_id":"resp_unheard_of"`)).want(http.StatusOK)
		if unknown.session() == first.session() || unknown.header.Get("X-Mooring-Identity") != "minted" {
			t.Errorf("an unknown id leads to %s by %s", unknown.session(), unknown.header.Get("X-Mooring-Identity"))
		}
	})
	t.Run("another tenant's answer or conversation is an unknown one and is not sent", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+twoKeys())
		p.key = keyA
		mine := id(p.call(http.MethodPost, responsesRoute, body(`,"conversation":"conv_a"`)).want(http.StatusOK))
		p.key = keyB
		n := len(u.Requests())
		for _, q := range []*reply{
			p.call(http.MethodPost, responsesRoute, body(fmt.Sprintf(`,"previous_response_id":%q`, mine))),
			p.call(http.MethodPost, responsesRoute, body(`,"conversation":{"id":"conv_a"}`)),
			p.call(http.MethodGet, responsesRoute+"/"+mine, ""),
			p.call(http.MethodDelete, responsesRoute+"/"+mine, ""),
			p.call(http.MethodPost, responsesRoute+"/"+mine+"/cancel", "{}"),
		} {
			if q.status != http.StatusNotFound || q.header.Get("X-Mooring-Error") != "not_found" {
				t.Errorf("status %d, %s", q.status, q.body)
			}
		}
		if got := len(u.Requests()); got != n || p.sessions() != 0 {
			t.Errorf("%d requests went up, %d sessions were made", got-n, p.sessions())
		}
		p.key = keyA
		if r := p.call(http.MethodGet, responsesRoute+"/"+mine, ""); r.status == http.StatusNotFound && r.header.Get("X-Mooring-Error") != "" {
			t.Errorf("its own: %d %s", r.status, r.body)
		}
	})
}

func TestCompactIsACompaction(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	body := `{"model":"fake-1","input":"hello"}`
	first := p.call(http.MethodPost, responsesRoute, body, "X-Session-Id", "t").want(http.StatusOK)
	r := p.call(http.MethodPost, responsesRoute+"/compact", body, "X-Session-Id", "t").want(http.StatusOK)
	if got := r.header.Get("X-Mooring-Kind"); got != "compaction" || r.session() != first.session() {
		t.Errorf("kind %q in %s, want compaction in %s", got, r.session(), first.session())
	}
}

func TestKeyWithoutTenantMakesNothing(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+fmt.Sprintf("keys:\n  - {name: root, role: operator, hash: \"sha256:%x\"}\n", sha256.Sum256([]byte(keyA))))
	p.key = keyA
	for path, body := range map[string]string{chatPath: chatBody("hi", ""), "/v1/embeddings": `{"model":"fake-1","input":"x"}`} {
		if r := p.call(http.MethodPost, path, body); r.status != http.StatusBadRequest || len(u.Requests()) != 0 {
			t.Errorf("%s: status %d, %d upstream requests; want 400 and none", path, r.status, len(u.Requests()))
		}
	}
	p.call(http.MethodGet, "/v1/models", "").want(http.StatusOK)
}

func TestTranscriptsMetadata(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Text: "reply-zebra"})
	p := startChild(t, one(u)+"sessions: {transcripts: metadata}\n")
	c := p.client()
	a := c.say("prompt-giraffe")
	b := c.say("prompt-okapi")
	if a.session() != b.session() || p.field(a.session(), "title") != "" {
		t.Errorf("sessions %s and %s, title %q", a.session(), b.session(), p.field(a.session(), "title"))
	}
	if diff := cmp.Diff([]string{"user: ", "assistant: ", "user: ", "assistant: "}, p.texts(a.session())); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	p.kill()
	for _, word := range []string{"zebra", "giraffe", "okapi"} {
		if where := p.written(word); len(where) > 0 {
			t.Errorf("%s was written to %v", word, where)
		}
	}
}

package app_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// runOf is the turn of a page's stream that has begun.
func (l *live) runOf() string {
	l.t.Helper()
	l.until("event: started")
	l.until("\n\n")
	return fmt.Sprint(pageEvents(l.t, l.read.String())[0].data["runId"])
}

// watch follows a turn; last is the event that the listener has already, empty for none.
func (p *product) watch(run, last string) *reply {
	p.t.Helper()
	var hs []string
	if last != "" {
		hs = []string{"Last-Event-ID", last}
	}
	return p.call(http.MethodGet, "/api/turns/"+run+"/stream", "", hs...).want(http.StatusOK)
}

// follow is watch, read while it comes.
func (p *product) follow(run string, hs ...string) *live {
	p.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodGet, "/api/turns/"+run+"/stream", "", hs...))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	return &live{Response: res, t: p.t}
}

// C176, D19: a turn belongs to the server: its page may go and come back.
func TestPageTurnIsFollowedAgain(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	gate := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "one two three", HoldAt: gate, At: 3})
	l := p.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	run := l.runOf()
	l.until("two ")
	l.leave()
	again := make(chan *reply, 2)
	go func() { again <- p.watch(run, "") }()
	go func() { again <- p.watch(run, "2") }()
	close(gate)
	first, second := <-again, <-again
	if len(first.body) < len(second.body) {
		first, second = second, first
	}
	want := []string{"started deck", "chunk one ", "chunk two ", "chunk three", "done complete"}
	if diff := cmp.Diff(want, toldBy(t, string(first.body))); diff != "" {
		t.Errorf("from the start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], toldBy(t, string(second.body))); diff != "" {
		t.Errorf("behind event 2 (-want +got):\n%s", diff)
	}
	if n := len(u.Posts()); n != 1 {
		t.Errorf("C176 %d upstream calls, want 1", n)
	}
	if diff := cmp.Diff([]string{"user: tell me", "assistant: one two three"}, p.texts("deck")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	p.restart() // nobody remembers the bytes of the answer any more
	after := p.watch(run, "")
	if diff := cmp.Diff([]string{"started deck", "chunk one two three", "done complete"}, toldBy(t, string(after.body))); diff != "" {
		t.Errorf("C176 after the end (-want +got):\n%s", diff)
	}
	if e := pageEvents(t, string(p.watch(run, "3").body)); e[0].id != "4" || e[1].data["fullReplace"] != true {
		t.Errorf("behind event 3 of a turn that is over: %v, want the whole text in place of what was there", e)
	}
	p.call(http.MethodGet, "/api/turns/trn_none/stream", "").want(http.StatusNotFound)
}

func TestPageTurnOfAnotherRouteIsFollowed(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for _, path := range []string{chatPath, messagesPath, "/v1/responses"} {
		gate := make(chan struct{})
		u.Queue(upstreamtest.Reply{Text: "ay ay", HoldAt: gate, At: 1})
		body := chatBody("hi", `"stream":true,`)
		switch path {
		case messagesPath:
			body = messagesBody("hi", `"stream":true,`)
		case "/v1/responses":
			body = `{"model":"fake-1","stream":true,"input":"hi"}`
		}
		l := p.open(path, body, "X-Session-Id", "s"+path)
		follower := p.follow(l.Header.Get("X-Mooring-Turn"))
		follower.until("event: started")
		close(gate)
		l.rest()
		if list := toldBy(t, follower.rest()); !slices.Contains(list, "done complete") || strings.Join(list[1:len(list)-1], "") != "chunk ay chunk ay" {
			t.Errorf("%s: %q", path, list)
		}
	}
}

func TestPageTurnIsStopped(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	u.Queue(upstreamtest.Reply{Text: "half never", Fault: upstreamtest.Stall, At: 2})
	l := p.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	run := l.runOf()
	l.until("half ")
	r := p.call(http.MethodPost, "/api/turns/"+run+"/cancel", "").want(http.StatusOK)
	if r.get("state") != "cancelled" {
		t.Errorf("state %v, want cancelled", r.get("state"))
	}
	if diff := cmp.Diff([]string{"started deck", "chunk half ", "error turn_cancelled", "done cancelled"}, toldBy(t, l.rest())); diff != "" {
		t.Errorf("its listener (-want +got):\n%s", diff)
	}
	if got := p.call(http.MethodPost, "/api/turns/"+run+"/cancel", "").want(http.StatusOK).get("state"); got != "cancelled" {
		t.Errorf("once more: %v", got)
	}
	if diff := cmp.Diff([]string{"user: tell me", "assistant: half "}, p.texts("deck")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	p.call(http.MethodPost, "/api/turns/trn_none/cancel", "").want(http.StatusNotFound)
}

// Section 2: workspace.detach; C176.
func TestPageTurnEndsWithoutListeners(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+"workspace: {detach: 50ms}\n")
	u.Queue(upstreamtest.Reply{Text: "half never", Fault: upstreamtest.Stall, At: 2})
	l := p.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	run := l.runOf()
	l.until("half ")
	l.leave()
	eventually(t, "C176 the turn is cancelled", func() bool {
		return p.call(http.MethodGet, "/api/turns/"+run, "").get("state") == "cancelled"
	})
	if diff := cmp.Diff([]string{"user: tell me", "assistant: half "}, p.texts("deck")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestPageErrors(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for _, tt := range []struct {
		reply upstreamtest.Reply
		want  []string
	}{
		{upstreamtest.Failure(http.StatusInternalServerError), []string{"started deck", "error upstream_error"}},
		{upstreamtest.Reply{Text: "half x", Fault: upstreamtest.Cut, At: 2}, []string{"started deck", "chunk half ", "error upstream_error"}},
		{upstreamtest.Reply{Fault: upstreamtest.Lost}, []string{"started deck", "error upstream_error"}},
		{upstreamtest.Reply{}, nil},
	} {
		u.Queue(tt.reply)
		r := p.page("deck", "hi").want(http.StatusOK)
		got := toldBy(t, string(r.body))
		if tt.want == nil {
			if got[len(got)-1] != "done complete" {
				t.Errorf("after failures: %q", got)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.reply, diff)
		}
	}
	u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
	r := p.page("other", "hi")
	if !strings.Contains(string(r.body), "the fake model says 500") {
		t.Errorf("what the upstream says of its error is not told: %s", r.body)
	}
	if got := p.page("x", "hi", "model", "").status; got != http.StatusOK {
		t.Errorf("without a model: %d", got)
	}
	p.reload("upstreams:\n" + upstreamYAML("u1", u.URL, "key: none", "models: [fake-1]"))
	if r := p.page("x", "hi", "model", "nobody-9").want(http.StatusNotFound); r.get("error", "code") != "model_not_found" {
		t.Errorf("an unknown model: %v", r.get("error"))
	}
	if r := p.page("undefined", "hi").want(http.StatusBadRequest); r.get("error", "code") != "invalid_session_id" {
		t.Errorf("a placeholder as key: %v", r.get("error"))
	}
	if r := p.page("y", "hi", "parentId", "msg_none").want(http.StatusNotFound); r.get("error", "code") != "not_found" {
		t.Errorf("an unknown parent: %v", r.get("error"))
	}
}

// C121: an edit is a branch; pages switch between branches.
func TestPageBranches(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	u.Queue(upstreamtest.Reply{Text: "one"}, upstreamtest.Reply{Text: "two"}, upstreamtest.Reply{Text: "three"}, upstreamtest.Reply{Text: "four"})
	p.page("deck", "first").want(http.StatusOK)
	p.page("deck", "second").want(http.StatusOK)
	old := p.ids("deck")
	p.page("deck", "second, edited", "parentId", old[1]).want(http.StatusOK)
	if got := string(u.LastPost(t).Body()); strings.Contains(got, "two") || strings.Contains(got, `"second"`) {
		t.Errorf("C121 the upstream hears of the other branch: %s", got)
	}
	r := p.api(http.MethodGet, "/deck/messages", "").want(http.StatusOK)
	edited := fmt.Sprint(r.get("messages", 2, "id"))
	if diff := cmp.Diff([]any{old[2], edited}, r.get("messages", 2, "siblings")); diff != "" {
		t.Errorf("siblings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{old[0]}, r.get("messages", 0, "siblings")); diff != "" {
		t.Errorf("siblings of a lone message (-want +got):\n%s", diff)
	}
	down := p.api(http.MethodGet, "/deck/messages?down=1&tip="+old[2], "").want(http.StatusOK)
	if down.get("messages", -1, "id") != old[3] {
		t.Errorf("the branch below the first question ends at %v, want its answer", down.get("messages", -1))
	}
	p.api(http.MethodGet, "/deck/messages?down=1&tip=msg_none", "").want(http.StatusNotFound)
	p.page("deck", "another beginning", "parentId", "root").want(http.StatusOK)
	if diff := cmp.Diff([]string{`user "another beginning"`}, askedOf(t, u.LastPost(t))); diff != "" {
		t.Errorf("at the root (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"user: another beginning", "assistant: four"}, p.texts("deck")); diff != "" {
		t.Errorf("the current branch (-want +got):\n%s", diff)
	}
}

func TestPageBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]func(*upstreamtest.Server) string{
		"remote":    remote,
		"stateless": func(u *upstreamtest.Server) string { return one(u) },
		"anthropic": func(u *upstreamtest.Server) string {
			return fmt.Sprintf("upstreams:\n  - {name: u1, url: %q, protocol: anthropic, key: none}\n", u.URL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, yaml(u))
			p.page("deck", "old talk").want(http.StatusOK)
			r := p.page("deck", "/new").want(http.StatusOK)
			got := toldBy(t, string(r.body))
			if len(u.Posts()) != 1 || len(got) != 3 || got[0] != "started deck" || !strings.Contains(got[1], "deck") || got[2] != "done complete" {
				t.Errorf("/new: %d calls, %q", len(u.Posts()), got)
			}
			p.page("deck", "fresh").want(http.StatusOK)
			p.page("deck", "/new brighter").want(http.StatusOK)
			if body := string(u.LastPost(t).Body()); strings.Contains(body, "fresh") || strings.Contains(body, "/new") || !strings.Contains(body, "brighter") {
				t.Errorf("H-21 upstream got %s", body)
			}
			p.page("deck", "/newer").want(http.StatusOK)
			if body := string(u.LastPost(t).Body()); !strings.Contains(body, "/newer") || strings.Contains(body, "old talk") {
				t.Errorf("H-17 upstream got %s", body)
			}
			if p.sessions() != 3 {
				t.Errorf("%d sessions, want 3", p.sessions())
			}
			picture := []map[string]any{{"name": "a.png", "contentType": "image/png", "content": base64.StdEncoding.EncodeToString([]byte("\x89PNG"))}}
			p.page("deck", "/new", "attachments", picture).want(http.StatusOK)
			if p.sessions() != 4 || strings.Contains(string(u.LastPost(t).Body()), "newer") {
				t.Errorf("/new with an image: %d sessions, upstream got %s", p.sessions(), u.LastPost(t).Body())
			}
		})
	}
}

// CONTRACT 3.3: by whatever name a page knows the chat, its key means the fresh session from then on, and its turn that runs is ended.
func TestPageBeginsAnewByOtherNames(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for _, name := range []string{"id", "friendly_id", "chat/stream"} {
		key := "deck-" + strings.ReplaceAll(name, "/", "-")
		p.page(key, "old talk").want(http.StatusOK)
		old := p.session(key)
		gate := make(chan struct{})
		u.Queue(upstreamtest.Reply{Text: "one two three", HoldAt: gate, At: 2})
		running := p.open(sendPath, sends("sessionKey", key, "message", "tell me"))
		running.until("one ")
		if name == "chat/stream" {
			p.call(http.MethodPost, "/api/sessions/"+old["id"].(string)+"/chat/stream", sends("message", "/new")).want(http.StatusOK)
		} else {
			r := p.page(old[name].(string), "/new").want(http.StatusOK)
			if got := r.header.Get("X-Hermes-Session-Key"); got != old[name] {
				t.Errorf("%s: H-39 the page's name for the chat became %s", name, got)
			}
		}
		running.until("event: error")
		close(gate)
		if fresh := p.session(key); fresh["id"] == old["id"] || fresh["relation"] != "reset" {
			t.Errorf("%s: the key still means %v", name, fresh)
		}
		if p.session(old["id"].(string))["id"] != old["id"] || p.session(old["friendly_id"].(string))["id"] != old["id"] {
			t.Errorf("%s: the old session is not reached by its own names", name)
		}
	}
}

func TestPageAttachments(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG not really"))
	files := []map[string]any{
		{"name": "boat.png", "contentType": "image/png", "dataUrl": "data:image/png;base64," + png},
		{"name": "notes.txt", "contentType": "text/plain", "content": "tide at four"},
		{"name": "chart.pdf", "contentType": "application/pdf", "content": base64.StdEncoding.EncodeToString([]byte("%PDF"))},
	}
	p.page("deck", "what is this", "attachments", files).want(http.StatusOK)
	want := `user [{"text":"what is this","type":"text"},{"image_url":{"url":"data:image/png;base64,` + png + `"},"type":"image_url"},` +
		`{"text":"[file: notes.txt]\ntide at four","type":"text"},{"file":{"file_data":"data:application/pdf;base64,JVBERg==","filename":"chart.pdf"},"type":"file"}]`
	if got := askedOf(t, u.LastPost(t)); len(got) != 1 || got[0] != want {
		t.Errorf("upstream got %s\nwant %s", got, want)
	}
	if got := p.texts("deck")[0]; got != "user: what is this\n[screenshot]\n[file: notes.txt]\ntide at four\n[file: chart.pdf]" {
		t.Errorf("H-42 kept as %q", got)
	}
	p.page("alone", "", "attachments", files[:1]).want(http.StatusOK)
	if got := p.texts("alone")[0]; got != "user: [screenshot]" {
		t.Errorf("C129 kept as %q", got)
	}
	for _, bad := range []map[string]any{
		{"name": "x.zip", "contentType": "application/zip", "content": "UEsDBA=="},
		{"name": "x.png", "contentType": "image/png", "dataUrl": "https://evil.example/x.png"},
		{"name": "x.png", "contentType": "image/png", "content": "no base64!"},
		{"name": "x.png", "contentType": "image/png"},
	} {
		if r := p.page("deck", "hi", "attachments", []any{bad}); r.status != http.StatusBadRequest || r.get("error", "code") != "invalid_content" {
			t.Errorf("%v: %d %s", bad, r.status, r.body)
		}
	}
	if h := string(p.call(http.MethodGet, "/api/history?sessionKey=deck", "").body); strings.Contains(h, png) || !strings.Contains(h, "[screenshot]") {
		t.Errorf("history shows %s", h)
	}
}

// H-15: a chat whose server keeps it waits for its own turn, and its page is told that it is alive.
func TestPageWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, remote(u))
	gate := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "first", Hold: gate})
	first := p.open(sendPath, sends("sessionKey", "deck", "message", "one"))
	first.runOf()
	second := p.open(sendPath, sends("sessionKey", "deck", "message", "two")) // its header is there, though it waits
	queued := p.call(http.MethodPost, "/api/session-send", sends("sessionKey", "deck", "message", "three")).want(http.StatusOK)
	if queued.get("ok") != true || queued.get("queued") != true || queued.get("sessionKey") != "deck" {
		t.Errorf("session-send: %s", queued.body)
	}
	close(gate)
	first.rest()
	if got := toldBy(t, second.rest()); got[0] != "started deck" || got[len(got)-1] != "done complete" {
		t.Errorf("the one that waited: %q", got)
	}
	eventually(t, "B3 the last one has its answer", func() bool { return len(p.texts("deck")) == 6 })
}

// H-40, H-43: what Hermes' pages look for.
func TestPageProbes(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+twoKeys())
	p.call(http.MethodPost, "/api/sessions/__probe__/chat/stream", "{}").refused(t, "H-40", http.StatusNotFound, "session_not_found")
	p.call(http.MethodPost, "/api/sessions/nobody/chat/stream", "{}").refused(t, "without a key", http.StatusUnauthorized, "invalid_api_key")
	a := p.as(keyA)
	a.call(http.MethodPost, "/api/sessions/nobody/chat/stream", "{}").refused(t, "H-40", http.StatusNotFound, "session_not_found")
	a.page("deck", "look").want(http.StatusOK)
	r := a.call(http.MethodPost, "/api/sessions/deck/chat/stream", sends("message", "again")).want(http.StatusOK)
	if got := toldBy(t, string(r.body)); got[0] != "started deck" || got[len(got)-1] != "done complete" {
		t.Errorf("chat/stream: %q", got)
	}
	s := a.call(http.MethodGet, "/api/session?session_id=deck&messages=1&msg_limit=2&resolve_model=0&_=7", "").want(http.StatusOK)
	if s.get("session", "session_id") == nil || s.get("session", "messages", 0, "content") != "again" || s.get("session", "key") != "deck" {
		t.Errorf("H-43 session: %s", s.body)
	}
	for query, status := range map[string]int{"session_id=nobody": 404, "session_id=..%2f..": 404, "session_id=%00": 404, "": 400, "session_id=deck&profile=other": 409} {
		if got := a.call(http.MethodGet, "/api/session?"+query, "").status; got != status {
			t.Errorf("H-43 ?%s: %d, want %d", query, got, status)
		}
	}
	found := a.call(http.MethodGet, "/api/sessions/search?q=look", "").want(http.StatusOK)
	if found.get("ok") != true || found.get("results", 0, "key") != "deck" || found.get("count") != 1.0 {
		t.Errorf("B3 search: %s", found.body)
	}
	for query, want := range map[string]int{"sessionKey=new": 0, "sessionKey=nobody": 0, "friendlyId=deck": 4, "sessionKey=deck&limit=1": 1} {
		h := a.call(http.MethodGet, "/api/history?"+query, "").want(http.StatusOK)
		if list, _ := h.get("messages").([]any); len(list) != want {
			t.Errorf("B3 history of %s: %d messages, want %d", query, len(list), want)
		}
	}
}

// session is what the session API says of one.
func (p *product) session(name string) map[string]any {
	p.t.Helper()
	var s map[string]any
	if err := json.Unmarshal(p.call(http.MethodGet, "/api/sessions/"+name, "").want(http.StatusOK).body, &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Whoever listens to a page's turn that a shutdown ends is told so.
func TestPageHearsOfTheShutdown(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	u.Queue(upstreamtest.Reply{Text: "one two three", HoldAt: make(chan struct{}), At: 2})
	l := p.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	l.until("one ")
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.app.Stop(ctx) }()
	l.until("event: error")
	l.until(`"code":"turn_cancelled"`)
	l.until("event: done")
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	p.app = nil
}

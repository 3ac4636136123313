package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// event is one of a page's events.
type event struct {
	id, name string
	data     map[string]any
}

func (e event) text() string { return fmt.Sprint(e.data["text"]) }

// pageEvents reads a stream of events, comments left out.
func pageEvents(t *testing.T, stream string) []event {
	t.Helper()
	var out []event
	for block := range strings.SplitSeq(stream, "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch field, value, _ := strings.Cut(line, ": "); field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e.data); err != nil {
					t.Fatalf("event %q: %v", block, err)
				}
			}
		}
		if e.name != "" {
			out = append(out, e)
		}
	}
	return out
}

// toldBy is an answer of a page's turn, told in a line an event: its name and what it says.
func toldBy(t *testing.T, stream string) []string {
	t.Helper()
	var out []string
	for _, e := range pageEvents(t, stream) {
		switch e.name {
		case "chunk", "thinking":
			out = append(out, e.name+" "+e.text())
		case "tool":
			out = append(out, fmt.Sprint("tool ", e.data["phase"], " ", e.data["name"], " ", e.data["toolCallId"]))
		case "error":
			out = append(out, fmt.Sprint("error ", e.data["code"]))
		case "done":
			out = append(out, fmt.Sprint("done ", e.data["state"]))
		case "started":
			out = append(out, fmt.Sprint("started ", e.data["sessionKey"]))
		}
	}
	return out
}

const sendPath = "/api/send-stream"

// sends is a send's body: pairs of a member and its value.
func sends(pairs ...any) string {
	body := map[string]any{"model": "fake-1"}
	for i := 0; i+1 < len(pairs); i += 2 {
		body[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	out, _ := json.Marshal(body)
	return string(out)
}

// page sends a message in a chat and reads the whole answer.
func (p *product) page(key, text string, more ...any) *reply {
	p.t.Helper()
	return p.call(http.MethodPost, sendPath, sends(append([]any{"sessionKey", key, "message", text}, more...)...))
}

// askedOf gives role and content of each message that an upstream was sent.
func askedOf(t *testing.T, r *upstreamtest.Request) []string {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(r.Body(), &body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range body.Messages {
		out = append(out, m.Role+" "+string(m.Content))
	}
	return out
}

func TestPageKeys(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, remote(u))
	for _, tt := range []struct{ body, want string }{
		{`{"sessionKey":" deck ","friendlyId":"hold","message":"hi"}`, "deck"},
		{`{"sessionKey":" ","friendlyId":"hold","message":"hi"}`, "hold"},
		{`{"sessionKey":null,"message":"hi"}`, "main"},
	} {
		r := p.call(http.MethodPost, sendPath, tt.body).want(http.StatusOK)
		started := pageEvents(t, string(r.body))[0]
		got := []string{r.header.Get("X-Hermes-Session-Key"), r.header.Get("X-Hermes-Friendly-Id"), fmt.Sprint(started.data["sessionKey"]), fmt.Sprint(started.data["friendlyId"])}
		if want := []string{tt.want, tt.want, tt.want, tt.want}; !slices.Equal(got, want) || started.name != "started" {
			t.Errorf("H-37 H-38 %s: headers and started say %v, want %s", tt.body, got, tt.want)
		}
	}
	first, second := p.page("new", "hi").want(http.StatusOK), p.page("new", "hi").want(http.StatusOK)
	key := first.header.Get("X-Hermes-Session-Key")
	if key == second.header.Get("X-Hermes-Session-Key") || key == "new" || key == "main" {
		t.Errorf("H-37 new gives %q twice, want a fresh key each time", key)
	}
	u.Queue(upstreamtest.Reply{Header: http.Header{"X-Hermes-Session-Id": {"api-theirs"}}})
	r := p.page(key, "go on").want(http.StatusOK)
	p.page(key, "and on").want(http.StatusOK)
	sent := u.LastPost(t).Header
	if r.header.Get("X-Hermes-Session-Key") != key || strings.Contains(string(r.body)+fmt.Sprint(r.header), "api-theirs") {
		t.Errorf("H-39 D20 the upstream's id is seen in the answer: %v %s", r.header, r.body)
	}
	if sent.Get("X-Hermes-Session-Id") != "api-theirs" || sent.Get("X-Claude-Session-Id") != "api-theirs" || sent.Get("Authorization") != "" || sent.Get("X-Hermes-Session-Key") != "" {
		t.Errorf("H-9 B8 the upstream got %v, want both session headers with its own id, and no bearer", sent)
	}
	if got := p.page(key, "x", "message", "").status; got != http.StatusBadRequest {
		t.Errorf("an empty message: %d", got)
	}
}

// The five cases of the test of Hermes Workspace's client (spec B8): Mooring stands in its place towards the gateway.
func TestPageTellsWhatAGatewaySays(t *testing.T) {
	t.Parallel()
	const key = "gateway"
	piece := func(text string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
	}
	frame := func(name, tool, status string) string {
		return fmt.Sprintf("event: %s\ndata: {\"tool\":%q,\"emoji\":\"*\",\"label\":\"l\",\"toolCallId\":\"c-%s\",\"status\":%q}\n\n", name, tool, tool, status)
	}
	const stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	for _, tt := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"content passes, the end is not told", []string{piece("ay "), piece("ay"), stop}, []string{"chunk ay ", "chunk ay"}},
		{"a frame of a tool's progress", []string{frame("hermes.tool.progress", "ls", "running"), piece("ay"), stop}, []string{"tool calling ls c-ls", "chunk ay"}},
		{
			"several frames, cut anywhere, in order",
			[]string{frame("hermes.tool.progress", "ls", "running") + piece("a"), piece("b") + frame("claude.tool.progress", "ls", "completed"), stop},
			[]string{"tool calling ls c-ls", "chunk a", "chunk b", "tool complete ls c-ls"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			u.Always(upstreamtest.Reply{Events: tt.events, ByteByByte: true})
			p := start(t, remote(u))
			r := p.page(key, "hi").want(http.StatusOK)
			want := append(append([]string{"started gateway"}, tt.want...), "done complete")
			if diff := cmp.Diff(want, toldBy(t, string(r.body))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if strings.Contains(string(r.body), "[DONE]") {
				t.Error("H-37 the stream holds a [DONE]")
			}
			sent := u.LastPost(t).Header
			if sent.Get("X-Hermes-Session-Id") != key || sent.Get("X-Claude-Session-Id") != key {
				t.Errorf("session headers %v, want both without any bearer", sent)
			}
		})
	}
}

func TestPageStreamShape(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	r := p.page("deck", "hi").want(http.StatusOK)
	if got := r.header.Get("Cache-Control") + " " + r.header.Get("X-Accel-Buffering"); got != "no-cache, no-transform no" {
		t.Errorf("headers %q", got)
	}
	if !strings.HasPrefix(string(r.body), ":"+strings.Repeat(" ", 2048)+"\n\n") {
		t.Errorf("B2 the stream begins %q, want a comment of 2,048 spaces", r.body[:min(20, len(r.body))])
	}
	for i, e := range pageEvents(t, string(r.body)) {
		if e.id != fmt.Sprint(i+1) || e.data["sessionKey"] != "deck" || e.data["runId"] == nil {
			t.Errorf("event %d: id %q, %v", i, e.id, e.data)
		}
	}
	if got := p.call(http.MethodGet, sendPath, "").want(http.StatusMethodNotAllowed).get("error", "code"); got != "method_not_allowed" {
		t.Errorf("GET: %v", got)
	}
	p.call(http.MethodGet, chatPath, "").want(http.StatusMethodNotAllowed) // H-41
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		req := p.request(http.MethodPost, sendPath, sends("message", "hi"))
		req.Header.Set("Content-Type", kind)
		if got := p.send(req).status; got != http.StatusUnsupportedMediaType {
			t.Errorf("C143 %s: %d, want 415", kind, got)
		}
	}
	for _, path := range []string{sendPath, "/api/session-send", "/api/sessions/deck/chat/stream", "/api/turns/trn_1/cancel"} {
		if r := p.call(http.MethodPost, path, sends("message", "hi"), "Origin", "https://evil.example"); r.status != http.StatusForbidden || r.header.Get("X-Mooring-Error") != "origin_forbidden" {
			t.Errorf("C143 %s from elsewhere: %d", path, r.status)
		}
	}
	if got := p.sessions(); got != 1 {
		t.Errorf("%d sessions, want the one that was begun", got)
	}
}

func TestPageToldHistory(t *testing.T) {
	t.Parallel()
	t.Run("a stateless upstream is told the branch, and only what is new is kept", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Text: "one"}, upstreamtest.Reply{Text: "two"})
		p.page("deck", "first").want(http.StatusOK)
		p.page("deck", "second", "history", []map[string]string{{"role": "user", "content": "forged"}}).want(http.StatusOK)
		if diff := cmp.Diff([]string{`user "first"`, `assistant "one"`, `user "second"`}, askedOf(t, u.LastPost(t))); diff != "" {
			t.Errorf("upstream (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"user: first", "assistant: one", "user: second", "assistant: two"}, p.texts("deck")); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	})
	t.Run("one that keeps the conversation gets the new message alone, and goes on from its end", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, remote(u))
		p.page("deck", "first").want(http.StatusOK)
		p.page("deck", "second").want(http.StatusOK)
		if diff := cmp.Diff([]string{`user "second"`}, askedOf(t, u.LastPost(t))); diff != "" {
			t.Errorf("upstream (-want +got):\n%s", diff)
		}
		ids := p.ids("deck")
		r := p.page("deck", "another way", "parentId", ids[1]).want(http.StatusConflict)
		if r.get("error", "code") != "linear_history" {
			t.Errorf("from the middle: %v", r.get("error"))
		}
		p.page("deck", "on from the end", "parentId", ids[3]).want(http.StatusOK)
	})
	t.Run("without texts the client's own history is told, or nothing is asked", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"sessions: {transcripts: metadata}\n")
		p.page("deck", "first").want(http.StatusOK)
		r := p.page("deck", "second").want(http.StatusConflict)
		if r.get("error", "code") != "transcripts_off" || len(u.Posts()) != 1 {
			t.Errorf("without history: %v, %d calls", r.get("error"), len(u.Posts()))
		}
		p.page("deck", "second", "history", []map[string]any{{"role": "user", "content": "first"}, {"role": "assistant", "content": []any{map[string]string{"type": "text", "text": "one"}}}}).want(http.StatusOK)
		if diff := cmp.Diff([]string{`user "first"`, `assistant "one"`, `user "second"`}, askedOf(t, u.LastPost(t))); diff != "" {
			t.Errorf("upstream (-want +got):\n%s", diff)
		}
	})
	t.Run("C080 a call that broke off is closed, and the session goes on", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Tool: &upstreamtest.ToolCall{ID: "c1", Name: "ls", Arguments: "{}"}})
		p.chat("deck", "list them").want(http.StatusOK)
		p.page("deck", "hi").want(http.StatusOK)
		got := askedOf(t, u.LastPost(t))
		want := []string{`user "list them"`, "assistant null", `tool "The call was not answered; it broke off."`, `user "hi"`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("upstream (-want +got):\n%s", diff)
		}
	})
	t.Run("D22 D19 a session of another route goes on here, by each of its names, without a copy", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		born := p.chat("chat-7", "born elsewhere").want(http.StatusOK)
		friendly := fmt.Sprint(p.field(born.session(), "friendly_id"))
		for _, key := range []string{"chat-7", friendly, born.session()} {
			r := p.page(key, "by "+key).want(http.StatusOK)
			if got := r.header.Get("X-Hermes-Session-Key"); got != key {
				t.Errorf("the key %q became %q", key, got)
			}
		}
		if got := p.chat("chat-7", "and back").want(http.StatusOK).session(); got != born.session() || p.sessions() != 1 {
			t.Errorf("%d sessions, the last turn in %s; want one, %s", p.sessions(), got, born.session())
		}
		h := p.call(http.MethodGet, "/api/history?sessionKey=chat-7", "").want(http.StatusOK)
		if got := h.get("sessionId"); got != born.session() {
			t.Errorf("D19 history is read from %v, want %s", got, born.session())
		}
	})
	t.Run("another tenant's sessions are not reached by any of their names", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+twoKeys())
		alice, bob := p.as(keyA), p.as(keyB)
		mine := alice.page("deck", "mine ALPHA").want(http.StatusOK)
		id := fmt.Sprint(pageEvents(t, string(mine.body))[0].data["sessionId"])
		run := fmt.Sprint(pageEvents(t, string(mine.body))[0].data["runId"])
		bob.page("deck", "his own").want(http.StatusOK)
		if strings.Contains(string(u.LastPost(t).Body()), "ALPHA") {
			t.Error("C135 the other tenant's words went upstream")
		}
		bob.page(id, "hi").want(http.StatusNotFound)
		for _, path := range []string{"/api/turns/" + run + "/stream", "/api/session?session_id=" + id} {
			bob.call(http.MethodGet, path, "").want(http.StatusNotFound)
		}
		bob.call(http.MethodPost, "/api/turns/"+run+"/cancel", "").want(http.StatusNotFound)
		bob.call(http.MethodPost, "/api/sessions/"+id+"/chat/stream", sends("message", "hi")).want(http.StatusNotFound)
		for _, path := range []string{"/api/history?sessionKey=deck", "/api/sessions/search?q=ALPHA", "/api/history?sessionKey=" + id} {
			if r := bob.call(http.MethodGet, path, "").want(http.StatusOK); strings.Contains(string(r.body), "mine") {
				t.Errorf("C135 %s shows %s", path, r.body)
			}
		}
	})
}

// C132: what a page sends is held to limits.body with all that stands before it, and a chat that has grown beyond it can begin anew.
func TestPageOfAChatThatHasGrown(t *testing.T) {
	t.Parallel()
	up := upstreamtest.New(t)
	up.AlwaysFunc(func(*upstreamtest.Request) upstreamtest.Reply { return upstreamtest.Reply{Text: "aye"} })
	p := start(t, "limits: {body: 4KiB}\nupstreams:\n"+upstreamYAML("up", up.URL))
	words := strings.Repeat("a rope ", 300) // 2,100 bytes: one fits, and two do not
	p.page("deck", words).want(http.StatusOK)
	r := p.page("deck", words)
	if r.status != http.StatusRequestEntityTooLarge || r.get("error", "code") != "body_too_large" {
		t.Errorf("the second message: %d %s, want body_too_large", r.status, r.body)
	}
	if n := len(up.Posts()); n != 1 {
		t.Errorf("the upstream got %d requests, want 1", n)
	}
	p.page("deck", "a knot").want(http.StatusOK)
	p.page("deck", "/new "+words).want(http.StatusOK)
}

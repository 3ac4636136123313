package app_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// api asks the session API; the path is what follows /api/sessions.
func (p *product) api(method, path, body string) *reply {
	p.t.Helper()
	return p.call(method, "/api/sessions"+path, body)
}

// branch gives role and text of the branch that ends at a message.
func (p *product) branch(id, tip string) []string {
	p.t.Helper()
	r := p.api(http.MethodGet, "/"+url.PathEscape(id)+"/messages?limit=200&tip="+tip, "").want(http.StatusOK)
	list, _ := r.get("messages").([]any)
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, fmt.Sprint(r.get("messages", i, "role"), ": ", r.get("messages", i, "text")))
	}
	return out
}

// ids are the messages of the current branch.
func (p *product) ids(id string) []string {
	p.t.Helper()
	r := p.api(http.MethodGet, "/"+url.PathEscape(id)+"/messages?limit=200", "").want(http.StatusOK)
	list, _ := r.get("messages").([]any)
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, fmt.Sprint(r.get("messages", i, "id")))
	}
	return out
}

// C012, C013: a key is kept byte for byte, and reaches the session through the API and through the LLM routes.
func TestCreatedSessionIsTheOneThatTurnsReach(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		p := start(t, store+one(u))
		for _, key := range []string{"Team-A/Chat 01?", "7f0C1a52-6b54-4c39-9c7c-0d6f0d9d6f11", "7f0c1a52-6b54-4c39-9c7c-0d6f0d9d6f11"} {
			made := p.api(http.MethodPost, "", fmt.Sprintf(`{"title":"Ropes","key":%q}`, key)).want(http.StatusCreated)
			id := fmt.Sprint(made.get("id"))
			if got := made.header.Get("Location"); got != "/api/sessions/"+id {
				t.Errorf("Location = %q", got)
			}
			if s := p.api(http.MethodGet, "/"+url.PathEscape(key), "").want(http.StatusOK); s.get("id") != id || s.get("key") != key || s.get("state") != nil {
				t.Errorf("C012 C013 by key %q: %s", key, s.body)
			}
			if got := p.api(http.MethodGet, "?q="+url.QueryEscape(key), "").get("sessions", 0, "updated_at"); got != made.get("created_at") {
				t.Errorf("listed as updated at %v, want when it was made: %v", got, made.get("created_at"))
			}
			p.api(http.MethodPost, "", fmt.Sprintf(`{"key":%q}`, key)).refused(t, "the same key again", http.StatusConflict, "ambiguous_key")
			for n := range 3 {
				if r := p.chat(key, fmt.Sprint("hello ", n)).want(http.StatusOK); r.session() != id {
					t.Errorf("C012 C013 turn under %q is in %s, want %s", key, r.session(), id)
				}
			}
			if got := p.api(http.MethodGet, "/"+id, ""); got.get("title") != "Ropes" || got.get("turns") != 3.0 || got.get("state") != "completed" {
				t.Errorf("C012 the session after its turns: %s", got.body)
			}
		}
		minted := p.api(http.MethodPost, "", "").want(http.StatusCreated)
		if r := p.chat(fmt.Sprint(minted.get("key")), "hello").want(http.StatusOK); r.session() != minted.get("id") {
			t.Errorf("a turn under the minted key is in %s, want %v", r.session(), minted.get("id"))
		}
		for body, code := range map[string]string{
			`{"key":"null"}`: "invalid_session_id", `{"key":"` + strings.Repeat("x", 257) + `"}`: "invalid_session_id", `{"key":"a\u0007b"}`: "invalid_session_id",
			`{"title":"` + strings.Repeat("x", 201) + `"}`: "invalid_request", `{"title":"a","title":"b"}`: "invalid_json",
		} {
			p.api(http.MethodPost, "", body).refused(t, body, http.StatusBadRequest, code)
		}
		p.api(http.MethodPost, "", `{"title":"`+strings.Repeat("x", 70_000)+`"}`).refused(t, "a large body", http.StatusRequestEntityTooLarge, "body_too_large")
		r := p.request(http.MethodPost, "/api/sessions", "title=x")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		p.send(r).refused(t, "a form", http.StatusUnsupportedMediaType, "unsupported_media_type")
	})
}

// A key under which a session is known already by another class of names is that session's, and no second one's.
func TestKeyOfASessionThatAClientBegan(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	p.chat("", "apples", "X-Openwebui-Chat-Id", "berth").want(http.StatusOK)
	p.api(http.MethodPost, "", `{"key":"berth"}`).refused(t, "its key", http.StatusConflict, "ambiguous_key")
	id := p.chat("quay", "pears").want(http.StatusOK).session()
	p.api(http.MethodPost, "", fmt.Sprintf(`{"key":%q}`, id)).refused(t, "an internal id", http.StatusConflict, "ambiguous_key")
	p.chat("berth", "plums").want(http.StatusOK)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		p.api(method, "/berth", "").refused(t, method+" of a key of two", http.StatusConflict, "ambiguous_key")
	}
}

// C121: an edit is a branch; a patch moves the tip there and back, and what comes without history goes on behind it, though
// memory had the session elsewhere.
func TestTipMoves(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		u.Queue(upstreamtest.Reply{Text: "one"}, upstreamtest.Reply{Text: "two"}, upstreamtest.Reply{Text: "three"}, upstreamtest.Reply{Text: "four"})
		p := start(t, store+one(u))
		say := func(texts ...string) {
			p.call("POST", chatPath, talk(texts...), "X-Session-Id", "t").want(http.StatusOK)
		}
		say("u1")
		say("u1", "one", "u2")
		before := p.ids("t")
		say("u1", "one", "u2 edited")
		edited := []string{"user: u1", "assistant: one", "user: u2 edited", "assistant: three"}
		if diff := cmp.Diff(edited, p.texts("t")); diff != "" {
			t.Errorf("C121 the current branch (-want +got):\n%s", diff)
		}
		old := []string{"user: u1", "assistant: one", "user: u2", "assistant: two"}
		if diff := cmp.Diff(old, p.branch("t", before[3])); diff != "" {
			t.Errorf("C121 the old branch (-want +got):\n%s", diff)
		}
		if got := p.api(http.MethodGet, "/t/messages", "").get("messages", 2, "branch_count"); got != 2.0 {
			t.Errorf("C121 branch_count %v, want 2", got)
		}
		p.api(http.MethodPatch, "/t", fmt.Sprintf(`{"tip":%q}`, before[3])).want(http.StatusOK)
		if diff := cmp.Diff(old, p.texts("t")); diff != "" {
			t.Errorf("C121 after the patch (-want +got):\n%s", diff)
		}
		p.chat("t", "u3").want(http.StatusOK)
		if diff := cmp.Diff(append(old, "user: u3", "assistant: four"), p.texts("t")); diff != "" {
			t.Errorf("C121 a turn after the patch (-want +got):\n%s", diff)
		}
		p.api(http.MethodPatch, "/t", `{"tip":"msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"}`).refused(t, "an unknown tip", http.StatusNotFound, "not_found")
		p.api(http.MethodGet, "/t/messages?before=msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", "").refused(t, "before an unknown one", http.StatusNotFound, "not_found")
	})
}

// A fork ends at its message and goes on by itself, by its key, by its id, and with the history resent.
func TestFork(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		u.Queue(upstreamtest.Reply{Text: "one"}, upstreamtest.Reply{Text: strings.Repeat("two ", 2000)})
		p := start(t, store+one(u))
		say := func(key string, texts ...string) *reply {
			return p.call("POST", chatPath, talk(texts...), "X-Session-Id", key).want(http.StatusOK)
		}
		say("t", "u1")
		source := say("t", "u1", "one", "u2").session()
		before, ids := p.texts("t"), p.ids("t")
		f := p.api(http.MethodPost, "/t/fork", fmt.Sprintf(`{"message_id":%q}`, ids[3])).want(http.StatusCreated)
		id, key := fmt.Sprint(f.get("id")), fmt.Sprint(f.get("key"))
		if f.get("relation") != "fork" || f.get("parent_id") != source || f.get("root_id") != source || f.get("usage", "input_tokens") != nil || f.get("turns") != 0.0 {
			t.Errorf("fork: %s", f.body)
		}
		if diff := cmp.Diff(before, p.texts(id)); diff != "" {
			t.Errorf("messages of the fork (-want +got):\n%s", diff)
		}
		if p.chat("", "another way", "X-Mooring-Session", id).want(http.StatusOK).session() != id {
			t.Error("the fork is not reached by its id")
		}
		resent := say(key, "u1", "one", "u2", strings.Repeat("two ", 2000), "a third way")
		if got := p.texts(id); resent.session() != id || len(got) != 6 || got[4] != "user: a third way" {
			t.Errorf("the fork with its history resent: in %s, %d messages", resent.session(), len(got))
		}
		if diff := cmp.Diff(before, p.texts("t")); diff != "" {
			t.Errorf("the source (-want +got):\n%s", diff)
		}
		p.api(http.MethodDelete, "/"+source, "").want(http.StatusNoContent)
		if got := p.api(http.MethodGet, "/"+id, ""); got.get("parent_id") != nil || got.get("root_id") != id || len(p.texts(id)) != 6 {
			t.Errorf("the fork without its source: %s", got.body)
		}
		p.api(http.MethodPost, "/"+id+"/fork", fmt.Sprintf(`{"message_id":%q}`, ids[0])).refused(t, "a fork at a message that went", http.StatusNotFound, "not_found")
	})
}

// C112: three sub-agents below one session; deleting it detaches them.
func TestTreeOfSubAgents(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Usage: &upstreamtest.Usage{Input: 100, Output: 10}})
		p := start(t, store+one(u)+"prices: {\"fake-*\": {input: 1, output: 1}}\n")
		agent := func(n, of int) string {
			hs := []string{"X-Opencode-Session-Id", fmt.Sprintf("ses_kid%023d", n)}
			if of >= 0 {
				hs = append(hs, "X-Opencode-Parent-Session-Id", fmt.Sprintf("ses_kid%023d", of))
			}
			return p.chat("", "work", hs...).want(http.StatusOK).session()
		}
		top := agent(0, -1)
		kids := []string{agent(1, 0), agent(2, 0), agent(3, 2)}
		tree := p.api(http.MethodGet, "/"+top+"/tree", "").want(http.StatusOK)
		for what, got := range map[string][2]any{
			"first child":         {kids[0], tree.get("children", 0, "id")},
			"second child":        {kids[1], tree.get("children", 1, "id")},
			"grandchild":          {kids[2], tree.get("children", 1, "children", 0, "id")},
			"its relation":        {"subagent", tree.get("children", 1, "children", 0, "relation")},
			"tokens of all":       {400.0, tree.get("tree_usage", "input_tokens")},
			"cost of all":         {0.00044, tree.get("tree_usage", "cost_usd")},
			"own tokens":          {100.0, tree.get("usage", "input_tokens")},
			"tokens of a branch":  {200.0, tree.get("children", 1, "tree_usage", "input_tokens")},
			"shown alone":         {400.0, p.api(http.MethodGet, "/"+top, "").get("tree_usage", "input_tokens")},
			"children by filter":  {2.0, p.api(http.MethodGet, "?parent="+top, "").get("total")},
			"no children of kids": {0.0, p.api(http.MethodGet, "?parent="+kids[0], "").get("total")},
		} {
			if got[0] != got[1] {
				t.Errorf("C112 %s: %v, want %v", what, got[1], got[0])
			}
		}
		p.api(http.MethodDelete, "/"+top, "").want(http.StatusNoContent)
		for i, want := range [][2]any{{nil, kids[0]}, {nil, kids[1]}, {kids[1], kids[1]}} {
			if s := p.api(http.MethodGet, "/"+kids[i], "").want(http.StatusOK); s.get("parent_id") != want[0] || s.get("root_id") != want[1] {
				t.Errorf("C112 child %d after the deletion: parent %v, root %v; want %v", i, s.get("parent_id"), s.get("root_id"), want)
			}
		}
	})
}

// C109, C111: each turn at its own model's price, unknown ones null; sessions, tenant and upstream agree.
func TestSumsAgree(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	usage := &upstreamtest.Usage{Input: 1000, Output: 100}
	p := start(t, one(u)+"prices: {dear: {input: 100, output: 100}, cheap: {input: 1, output: 1}}\n")
	say := func(key, model string, r upstreamtest.Reply) {
		r.Usage = usage
		u.Queue(r)
		p.call("POST", chatPath, fmt.Sprintf(`{"model":%q,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`, model), "X-Session-Id", key)
	}
	say("a", "dear", upstreamtest.Reply{Text: "half of it", Fault: upstreamtest.ErrorEvent, At: 3})
	say("a", "cheap", upstreamtest.Reply{})
	say("a", "cheap", upstreamtest.Reply{Status: 500})
	say("b", "cheap", upstreamtest.Reply{})
	p.api(http.MethodPost, "", `{"key":"empty"}`).want(http.StatusCreated)
	stats := p.call(http.MethodGet, "/api/stats", "").want(http.StatusOK)
	sessions := p.api(http.MethodGet, "", "").want(http.StatusOK)
	for _, name := range []string{"input_tokens", "output_tokens"} {
		sum := 0.0
		for i := range 3 {
			n, _ := sessions.get("sessions", i, "usage", name).(float64)
			sum += n
		}
		if total, day := stats.get("usage", name), stats.get("last_24h", "usage", name); total != sum || day != sum {
			t.Errorf("C111 %s: sessions %v, tenant %v, today %v", name, sum, total, day)
		}
	}
	if got := stats.get("sessions", "total"); got != 3.0 {
		t.Errorf("C111 %v sessions, want 3: %s", got, stats.body)
	}
	turns := stats.get("last_24h", "turns")
	if diff := cmp.Diff(map[string]any{"running": 0.0, "completed": 2.0, "failed": 2.0, "cancelled": 0.0, "interrupted": 0.0}, turns); diff != "" {
		t.Errorf("C111 turns by state (-want +got):\n%s", diff)
	}
	use := p.call(http.MethodGet, "/api/usage?by=model", "").want(http.StatusOK)
	for name, want := range map[string]any{"input_tokens": stats.get("usage", "input_tokens"), "cost_usd": stats.get("usage", "cost_usd")} {
		if got := use.get("total", "usage", name); got != want {
			t.Errorf("C111 usage says %v %s, stats say %v", got, name, want)
		}
	}
	if got := []any{use.get("total", "turns"), use.get("total", "failed"), use.get("rows", 0, "name"), use.get("rows", 0, "turns"), use.get("total", "unpriced_turns")}; !cmp.Equal(got, []any{4.0, 2.0, "cheap", 3.0, 0.0}) {
		t.Errorf("C111 usage %v: %s", got, use.body)
	}
	load := p.call(http.MethodGet, "/api/upstreams", "").want(http.StatusOK)
	if got := []any{load.get("upstreams", 0, "turns_last_hour"), load.get("upstreams", 0, "errors_last_hour"), load.get("upstreams", 0, "pinned")}; !cmp.Equal(got, []any{4.0, 2.0, 2.0}) {
		t.Errorf("load of the upstream %v: %s", got, load.body)
	}
	p.call("POST", "/v1/messages/count_tokens", `{"model":"priceless","messages":[{"role":"user","content":"hi"}]}`, "X-Session-Id", "b").want(http.StatusOK)
	if got := p.api(http.MethodGet, "/b", "").get("usage", "cost_usd"); got != 0.0011 {
		t.Errorf("C109 cost of the cheap session %v, want 0.0011", got)
	}
	say("b", "priceless", upstreamtest.Reply{})
	if s := p.api(http.MethodGet, "/b", ""); s.get("usage", "cost_usd") != nil || s.get("tree_usage", "cost_usd") != nil || s.get("usage", "input_tokens") != 2000.0 {
		t.Errorf("C109 a session with an unpriced part: %s", s.body)
	}
	if got := p.call(http.MethodGet, "/api/stats", "").get("usage", "cost_usd"); got != nil {
		t.Errorf("C109 the tenant's cost %v, want null", got)
	}
}

// C157: a list reads no message, however much is in them.
func TestListOfLargeSessions(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	const sessions, size = 20, 2 << 20
	for n := range sessions {
		image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n), 7}, size/2))
		p.call("POST", chatPath, fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`, image),
			"X-Session-Id", fmt.Sprint("s", n)).want(http.StatusOK)
	}
	p.api(http.MethodGet, "", "").want(http.StatusOK) // waits for the last commit
	begun := time.Now()
	list := p.api(http.MethodGet, "?limit=200", "").want(http.StatusOK)
	if took := time.Since(begun); took > 300*time.Millisecond || len(list.body) > 200_000 {
		t.Errorf("C157 a list of %d sessions took %v and %d bytes", sessions, took, len(list.body))
	}
	page := p.api(http.MethodGet, "/s1/messages", "").want(http.StatusOK)
	if got := page.get("messages", 0, "text"); got != "[screenshot]" {
		t.Errorf("C157 text %v", got)
	}
}

// C159: a walk through the pages shows every session once, also while others are added and some become active.
func TestPagesWhileSessionsMove(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	for n := range 25 {
		p.chat(fmt.Sprint("s", n), "hello").want(http.StatusOK)
	}
	var seen []string
	cursor := ""
	for pages := 0; ; pages++ {
		r := p.api(http.MethodGet, "?limit=10&cursor="+cursor, "").want(http.StatusOK)
		list, _ := r.get("sessions").([]any)
		for i := range list {
			seen = append(seen, fmt.Sprint(r.get("sessions", i, "key")))
		}
		if r.get("next_cursor") == nil {
			break
		}
		cursor = fmt.Sprint(r.get("next_cursor"))
		p.chat(fmt.Sprint("new", pages), "hello").want(http.StatusOK)
		p.chat(seen[0], "again").want(http.StatusOK)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(seen)))
	if len(seen) != 25 || len(distinct) != 25 {
		t.Errorf("C159 %d sessions on the pages, %d different; want 25", len(seen), len(distinct))
	}
}

// C161: nothing of a deleted session is left in the store's files, its turn that still ran included.
// A sub-agent whose parent was deleted names none any more, in its answers either.
func TestChildrenOfADeletedSession(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	parent := p.call(http.MethodPost, chatPath, chatBody("look at it", ""), "X-Session-Id", "above").want(http.StatusOK).session()
	ask := func(text, key, above string) *reply {
		return p.call(http.MethodPost, chatPath, chatBody(text, ""), "X-Session-Id", key, "X-Parent-Session-Id", above).want(http.StatusOK)
	}
	child, below := ask("a task", "child", "above"), ask("a smaller task", "grandchild", "child")
	if child.header.Get("X-Mooring-Parent") != parent || below.header.Get("X-Mooring-Parent") != child.session() {
		t.Fatalf("below %q and %q", child.header.Get("X-Mooring-Parent"), below.header.Get("X-Mooring-Parent"))
	}
	p.call(http.MethodDelete, "/api/sessions/"+parent, "").want(http.StatusNoContent)
	if r := ask("more", "child", "above"); r.header.Get("X-Mooring-Parent") != "" || r.session() != child.session() {
		t.Errorf("after the deletion: %s below %q, want %s below none", r.session(), r.header.Get("X-Mooring-Parent"), child.session())
	}
	if r := p.call(http.MethodGet, "/api/sessions/"+below.session(), ""); r.get("root_id") != child.session() {
		t.Errorf("root of the grandchild is %v, want %s", r.get("root_id"), child.session())
	}
}

func TestDeletedSessionIsGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	const word = "NUMBAT-5"
	u := upstreamtest.New(t)
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: word + " answered"}, upstreamtest.Reply{}, upstreamtest.Reply{Text: word + " again", Hold: hold})
	p := start(t, one(u))
	id := p.call("POST", chatPath, fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"%[1]s %[2]s"},`+
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,%[1]s%[3]s"}}]},{"role":"assistant","content":null,"tool_calls":[`+
		`{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":\"%[1]s\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"%[1]s"},`+
		`{"role":"user","content":"%[1]s?"}]}`, word, strings.Repeat("words ", 2000), strings.Repeat("AAAA", 50_000)), "X-Session-Id", word).want(http.StatusOK).session()
	p.api(http.MethodPatch, "/"+id, `{"title":"about `+word+`"}`).want(http.StatusOK)
	p.chat("other", "keep me").want(http.StatusOK)
	running := make(chan *reply, 1)
	go func() { running <- p.chat(word, "and "+word) }()
	if _, err := u.WaitPosts(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	p.api(http.MethodDelete, "/"+id, "").want(http.StatusNoContent)
	close(hold)
	late := <-running
	for _, path := range []string{"/" + id, "/" + word, "/" + id + "/messages", "/" + id + "/export", "/" + id + "/tree"} {
		p.api(http.MethodGet, path, "").refused(t, "C161 GET "+path, http.StatusNotFound, "session_not_found")
	}
	p.call(http.MethodGet, "/api/turns/"+late.header.Get("X-Mooring-Turn"), "").refused(t, "C161 its turn", http.StatusNotFound, "not_found")
	p.api(http.MethodDelete, "/"+id, "").refused(t, "C161 a second deletion", http.StatusNotFound, "session_not_found")
	var left []string
	eventually(t, "C161 no file holds the word", func() bool {
		left = left[:0]
		names, _ := filepath.Glob(filepath.Join(p.dir, "mooring.db*"))
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(word)) {
				left = append(left, filepath.Base(name))
			}
		}
		return len(left) == 0
	})
	if got := p.chat(word, "hello again").want(http.StatusOK).session(); got == id {
		t.Error("the key of a deleted session leads to it")
	}
	if got := len(p.texts("other")); got != 2 {
		t.Errorf("another session has %d messages, want 2", got)
	}
}

// C163, C165: equal messages of one moment are all exported, in order, in UTC; the same export twice is the same.
func TestExport(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	body := talk("same", "same", "same", "same", "same")
	id := p.call("POST", chatPath, body, "X-Session-Id", "t").want(http.StatusOK).session()
	first := p.api(http.MethodGet, "/t/export?format=jsonl", "").want(http.StatusOK)
	lines := strings.Split(strings.TrimSpace(string(first.body)), "\n")
	if len(lines) != 7 || !strings.Contains(lines[0], `"key":"t"`) || !strings.Contains(lines[6], "This is answer 1.") {
		t.Errorf("C163 %d lines: %s", len(lines), first.body)
	}
	for i, line := range lines[1:6] {
		if !strings.Contains(line, `"text":"same"`) || !strings.Contains(line, p.ids("t")[i]) {
			t.Errorf("C163 line %d: %s", i+2, line)
		}
	}
	p.restart()
	again := p.api(http.MethodGet, "/"+id+"/export?format=jsonl", "").want(http.StatusOK)
	if !bytes.Equal(first.body, again.body) {
		t.Errorf("C163 C165 the second export differs:\n%s\n%s", first.body, again.body)
	}
	md := p.api(http.MethodGet, "/t/export?format=markdown", "").want(http.StatusOK)
	if got := string(md.body); strings.Count(got, "\nsame\n") != 5 || !strings.Contains(got, "Z\n\nThis is answer 1.\n") {
		t.Errorf("C163 C165 markdown: %s", got)
	}
	if got := md.header.Get("Content-Disposition"); got != `attachment; filename="`+id+`.md"` {
		t.Errorf("Content-Disposition = %q", got)
	}
	p.api(http.MethodGet, "/t/export?format=xml", "").refused(t, "an unknown format", http.StatusBadRequest, "invalid_request")
}

// C167: a title by hand stays, over turns and restarts.
func TestTitleByHandStays(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	p.chat("t", "about ropes").want(http.StatusOK)
	if got := p.api(http.MethodGet, "/t", "").get("title"); got != "about ropes" {
		t.Fatalf("automatic title %v", got)
	}
	patched := p.api(http.MethodPatch, "/t", `{"title":" Knots ","pinned":true,"archived":true}`).want(http.StatusOK)
	if patched.get("title") != "Knots" || patched.get("pinned") != true || patched.get("archived") != true {
		t.Errorf("C167 patched: %s", patched.body)
	}
	p.chat("t", "about bollards").want(http.StatusOK)
	p.restart()
	p.chat("t", "about quays").want(http.StatusOK)
	if got := p.api(http.MethodGet, "/t", "").get("title"); got != "Knots" {
		t.Errorf("C167 title %v, want the one by hand", got)
	}
	if n, old := p.api(http.MethodGet, "?q=knots", "").get("total"), p.api(http.MethodGet, "?q=about+ropes", "").get("total"); n != 1.0 || old != 0.0 {
		t.Errorf("C167 found by the new title %v times, by the old one %v times; want 1 and 0", n, old)
	}
}

// An operator reads where that is allowed, and never writes with ?tenant=.
func TestOperatorNeverWrites(t *testing.T) {
	t.Parallel()
	p := start(t, keyring()+"upstreams:\n"+upstreamYAML("u1", upstreamtest.New(t).URL, "key: none")+"sessions: {operator_reads: true}\n")
	alice, root := p.as("KA"), p.as("KROOT")
	alice.chat("t", "hello").want(http.StatusOK)
	message := alice.ids("t")[0]
	for _, path := range []string{"/t", "/t/tree", "/t/export", "/t/messages", "/t/turns"} {
		root.api(http.MethodGet, path+"?tenant=acme", "").want(http.StatusOK)
		root.api(http.MethodGet, path, "").refused(t, "GET "+path+" without a tenant", http.StatusNotFound, "session_not_found")
	}
	for what, r := range map[string]*reply{
		"POST":   root.api(http.MethodPost, "?tenant=acme", `{}`),
		"PATCH":  root.api(http.MethodPatch, "/t?tenant=acme", `{"title":"x"}`),
		"DELETE": root.api(http.MethodDelete, "/t?tenant=acme", ""),
		"fork":   root.api(http.MethodPost, "/t/fork?tenant=acme", fmt.Sprintf(`{"message_id":%q}`, message)),
	} {
		r.refused(t, what, http.StatusNotFound, "not_found")
	}
	if got := alice.api(http.MethodGet, "", ""); got.get("total") != 1.0 || got.get("sessions", 0, "title") != "hello" {
		t.Errorf("alice's sessions: %s", got.body)
	}
}

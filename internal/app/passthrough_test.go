package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"mooring/internal/upstreamtest"
)

// spelled sends a request whose path stands as it is written here.
func (p *product) spelled(method, path, body string, hs ...string) *reply {
	p.t.Helper()
	r := p.request(method, "/", body, hs...)
	r.URL.Opaque = path
	return p.send(r)
}

// What another tenant owns is out of reach in every spelling of its path, and in every member that can name it.
func TestForeignObjectsInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"key: none", "key: sk-own", "key: sk-own, passthrough: [/v1/conversations]"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, keysYAML("KA", "acme", "KB", "globex")+"upstreams:\n"+upstreamYAML("up", u.URL, key))
			alice, bob := p.as("KA"), p.as("KB")
			id := fmt.Sprint(alice.call(http.MethodPost, responsesPath, `{"model":"fake-1","input":"go on","conversation":"conv_alice"}`).want(http.StatusOK).get("id"))
			own := bob.chat("", "hello").want(http.StatusOK).session()
			u.Forget()
			escaped := strings.Replace(id, "_", "%5F", 1)
			for _, path := range []string{
				"/v1/responses/" + escaped, "/v1/responses/" + strings.Replace(id, "_", "%255F", 1), "/v1/responses/" + id + "/", "/v1/responses/" + id + "?stream=true",
				"/v1/responses/" + id + "%2Finput_items", "/v1/responses%2F" + id, "/v1/%72esponses/" + id, "/v1/Responses/" + id, "/%761/responses/" + id,
				"/v1/responses/%2F" + id, "/v1/responses/" + id + ";x=1", "/openai/v1/responses/" + escaped, "/open%61i/v1/responses/" + id, "/v1/responses/x%2F..%2F" + id,
				"/v1/conversations/conv_alice", "/v1/conversations/conv%5Falice/items", "/v1/audio%2F..%2Fresponses/" + id, "/v1/responses/%5C" + id, "/v1/responses/" + id + "%00",
			} {
				bob.spelled(http.MethodGet, path, "").refused(t, path, http.StatusNotFound, "not_found")
			}
			for name, r := range map[string]*reply{
				"beside an exact session": bob.call(http.MethodPost, responsesPath, fmt.Sprintf(`{"model":"fake-1","input":"go on","previous_response_id":%q}`, id), "X-Mooring-Session", own),
				"a conversation beside an exact session": bob.call(http.MethodPost, responsesPath, `{"model":"fake-1","input":"go on","conversation":{"id":"conv_alice"}}`,
					"X-Mooring-Session", own),
				"beside a stronger id":      bob.call(http.MethodPost, responsesPath, fmt.Sprintf(`{"model":"fake-1","input":"go on","previous_response_id":%q}`, id), "X-Session-Id", "bob-1"),
				"counted":                   bob.call(http.MethodPost, "/v1/responses/input_tokens", fmt.Sprintf(`{"model":"fake-1","input":"go on","previous_response_id":%q}`, id)),
				"counted in a conversation": bob.call(http.MethodPost, "/v1/responses/input_tokens", `{"model":"fake-1","input":"go on","conversation":{"id":"conv_alice"}}`),
			} {
				r.refused(t, name, http.StatusNotFound, "not_found")
			}
			if sent := u.Requests(); len(sent) > 0 {
				t.Errorf("%d requests reached the upstream, the first one %s", len(sent), sent[0].Path)
			}
		})
	}
}

// An answer that broke off has an id that its client has read: it is that tenant's.
func TestIDOfABrokenAnswerHasAnOwner(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, keysYAML("KA", "acme", "KB", "globex")+"upstreams:\n"+upstreamYAML("up", u.URL, "key: none"))
	u.Queue(upstreamtest.Reply{Text: "one two three four", Fault: upstreamtest.Cut, At: 6})
	r := p.as("KA").call(http.MethodPost, responsesPath, `{"model":"fake-1","stream":true,"input":"go on"}`).want(http.StatusOK)
	_, rest, _ := strings.Cut(string(r.body), `"id":"resp`)
	id, _, _ := strings.Cut("resp"+rest, `"`)
	if id == "resp" {
		t.Fatalf("no id in %s", r.body)
	}
	u.Forget()
	p.as("KB").call(http.MethodGet, responsesPath+"/"+id, "").refused(t, "another tenant's", http.StatusNotFound, "not_found")
	if n := len(u.Requests()); n > 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
	p.as("KA").call(http.MethodGet, responsesPath+"/"+id, "")
	if n := len(u.Requests()); n != 1 {
		t.Errorf("its own tenant's request: %d reached the upstream", n)
	}
}

// A key's models hold for every body that an upstream may read a model from.
func TestModelsOfAKeyOnPassThrough(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, fmt.Sprintf("keys:\n  - {name: a, tenant: acme, models: [small], hash: \"sha256:%s\"}\nupstreams:\n", sum("KA"))+upstreamYAML("up", u.URL, "key: none"))
	p.key = "KA"
	form := func(fields ...string) (body, contentType string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := 0; i+1 < len(fields); i += 2 {
			_ = w.WriteField(fields[i], fields[i+1])
		}
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	wide := func(s string) string {
		var b strings.Builder
		for _, c := range utf16.Encode([]rune(s)) {
			b.Write([]byte{byte(c >> 8), byte(c)})
		}
		return b.String()
	}
	const big = `{"model":"big","input":"x"}`
	bigForm, formType := form("file", "x", "model", "big")
	twice, twiceType := form("model", "small", "model", "big")
	for name, tt := range map[string]struct{ body, contentType, encoding string }{
		"as JSON":                     {big, "application/json", ""},
		"behind a space":              {"\n " + big, "application/json", ""},
		"in UTF-16":                   {wide(big), "application/json", ""},
		"as text":                     {big, "text/plain", ""},
		"as text, twice":              {`{"model":"small","model":"big"}`, "text/plain", ""},
		"in other letters":            {`{"model":"small","Model":"big"}`, "application/json", ""},
		"compressed":                  {big, "application/json", "gzip"},
		"in a form with files":        {bigForm, formType, ""},
		"in a form, twice":            {twice, twiceType, ""},
		"in a form, name given twice": {"--b\r\nContent-Disposition: form-data; name=\"x\"; name=\"model\"\r\n\r\nbig\r\n--b--\r\n", "multipart/form-data; boundary=b", ""},
		"in a plain form":             {"x=1&model=big", "application/x-www-form-urlencoded", ""},
	} {
		hs := []string{}
		if tt.encoding != "" {
			hs = append(hs, "Content-Encoding", tt.encoding)
		}
		r := p.request(http.MethodPost, "/v1/embeddings", tt.body, hs...)
		r.Header.Set("Content-Type", tt.contentType)
		if got := p.send(r); got.status/100 != 4 || got.header.Get("X-Mooring-Error") == "" {
			t.Errorf("%s: %d %s, want a refusal", name, got.status, got.body)
		}
	}
	p.call(http.MethodPost, "/v1/chat/completions", `{"model":"small","Model":"big","messages":[{"role":"user","content":"hi"}]}`).
		refused(t, "a turn, in other letters", http.StatusUnsupportedMediaType, "unsupported_media_type")
	if sent := u.Requests(); len(sent) > 0 {
		t.Fatalf("%d requests reached the upstream, the first one %s %s", len(sent), sent[0].Path, sent[0].Body())
	}
	small, smallType := form("model", "small", "file", "x")
	r := p.request(http.MethodPost, "/v1/audio/transcriptions", small)
	r.Header.Set("Content-Type", smallType)
	p.send(r)
	p.call(http.MethodPost, "/v1/embeddings", `{"model":"small","input":"x"}`)
	if n := len(u.Requests()); n != 2 {
		t.Errorf("%d of its own model's requests reached the upstream, want 2", n)
	}
}

// A route that makes turns is not reached in another spelling, where nothing would be written down; and a method that shows what
// an upstream was sent goes nowhere.
func TestPassThroughOpensNoSideDoor(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "key: sk-own"))
	for _, path := range []string{"/v1/chat%2Fcompletions", "/v1/chat/completions/", "/v1/responses/", "/v1/responses%2Fcompact", "/anthropic/v1/messages/", "/v1/chat/Completions"} {
		p.spelled(http.MethodPost, path, chatBody("hi", "")).refused(t, path, http.StatusNotFound, "not_found")
	}
	p.call("TRACE", "/v1/embeddings", "").refused(t, "TRACE", http.StatusMethodNotAllowed, "method_not_allowed")
	if n := len(u.Requests()); n > 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
	p.spelled(http.MethodPost, "/v1/models/org%2Fname", "{}")
	if sent := u.Requests(); len(sent) != 1 || sent[0].Path != "/v1/models/org%2Fname" && sent[0].Path != "/v1/models/org/name" {
		t.Errorf("an escaped slash in a name: %d requests", len(sent))
	}
}

// A request that asks about a conversation leaves it as it is: its pin, its session at the upstream, its state.
func TestSideRequestsMoveNothing(t *testing.T) {
	t.Parallel()
	const count = "/v1/messages/count_tokens"
	const body = `{"model":"fake-1","messages":[{"role":"user","content":"hi"}]}`
	t.Run("where its upstream fails", func(t *testing.T) {
		t.Parallel()
		a, b := upstreamtest.New(t), upstreamtest.New(t)
		p := start(t, "upstreams:\n"+upstreamYAML("a", a.URL, "key: none")+upstreamYAML("b", b.URL, "key: none"))
		home, _, _ := strings.Cut(p.chat("c1", "one").want(http.StatusOK).header.Get("X-Mooring-Upstream"), ";")
		map[string]*upstreamtest.Server{"a": a, "b": b}[home].Queue(upstreamtest.Failure(http.StatusInternalServerError))
		p.call(http.MethodPost, count, body, "X-Session-Id", "c1").want(http.StatusOK)
		if got := p.chat("c1", "two").want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != home+"; pin=hit" {
			t.Errorf("the next turn is at %s, want %s; pin=hit", got, home)
		}
	})
	t.Run("where an upstream with state answers with another id", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "state: remote"))
		p.chat("c1", "one").want(http.StatusOK)
		before := u.LastPost(t).Header.Get("X-Hermes-Session-Id")
		u.Queue(upstreamtest.Reply{Header: http.Header{"X-Hermes-Session-Id": {"rotated-by-a-count"}}})
		p.call(http.MethodPost, count, body, "X-Session-Id", "c1").want(http.StatusOK)
		if id := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); id == before || id == "" {
			t.Errorf("the count carries %q, want a fresh id", id)
		}
		p.chat("c1", "two").want(http.StatusOK)
		if id := u.LastPost(t).Header.Get("X-Hermes-Session-Id"); id != before {
			t.Errorf("the next turn carries %q, want %q", id, before)
		}
	})
	t.Run("before a failed turn is sent again", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL))
		u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		failed := p.chat("c1", "one").want(http.StatusInternalServerError)
		p.call(http.MethodPost, count, body, "X-Session-Id", "c1").want(http.StatusOK)
		again := p.chat("c1", "one").want(http.StatusOK)
		if got, want := again.header.Get("X-Mooring-Turn"), failed.header.Get("X-Mooring-Turn"); got != want {
			t.Errorf("the retry is turn %s, want the next attempt of %s", got, want)
		}
	})
}

// The end of the server breaks off what it passes on: nobody takes a stump for the whole.
func TestStopBreaksPassThroughOff(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	u.On("/v1/responses/resp_x", upstreamtest.Reply{Events: []string{"data: one\n\n", "data: two\n\n"}, HoldAt: hold, At: 1})
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL))
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodGet, "/v1/responses/resp_x?stream=true", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err = io.ReadFull(res.Body, make([]byte, len("data: one\n\n"))); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.app.Stop(ended)
	p.app = nil
	if rest, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the answer ends in good order behind %q", rest)
	}
}

// Of several accounts at an upstream the one that made an answer is asked for it.
func TestAnAnswerIsReadWithTheAccountThatMadeIt(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "keys: [{name: k1, key: sk-1}, {name: k2, key: sk-2}, {name: k3, key: sk-3}]"))
	used := []string{}
	for i := range 12 {
		made := p.call(http.MethodPost, responsesPath, `{"model":"fake-1","input":"go on"}`, "X-Session-Id", fmt.Sprint("account-", i)).want(http.StatusOK)
		by := u.LastPost(t).Header.Get("Authorization")
		p.call(http.MethodGet, responsesPath+"/"+url.PathEscape(fmt.Sprint(made.get("id"))), "")
		all := u.Requests()
		if got := all[len(all)-1].Header.Get("Authorization"); got != by {
			t.Errorf("made with %s, read with %s", by, got)
		}
		used = append(used, by)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(used)))) < 2 {
		t.Fatalf("only one account was used: %v", used)
	}
}

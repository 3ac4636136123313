package workspace_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/workspace"
)

const made = "ses_01K0000000000000000000MADE"

// notes is the turn log of a test: what it was told, and which sessions memory was told to forget.
type notes struct {
	changes []mooring.Change
	forgot  []mooring.SessionID
	err     error // of the next commits
}

// writing is a house whose changes are noted. A session that is made is there afterwards.
func writing(m *memory) (house, *notes) {
	n := &notes{}
	copies := 0
	return open(workspace.Options{Store: m, Write: workspace.Writing{
		Commit: func(_ context.Context, c mooring.Change) error {
			n.changes = append(n.changes, c)
			if b, ok := c.(*mooring.Begin); ok && n.err == nil {
				m.sessions = append(m.sessions, b.Session)
			}
			return n.err
		},
		Body: func(_ http.ResponseWriter, r *http.Request) ([]byte, error) { return io.ReadAll(r.Body) },
		Name: func(key string) (string, []mooring.Alias, error) {
			if key == "new" {
				return "", nil, mooring.Errorf(mooring.CodeInvalidSessionID, "no id")
			}
			return key, []mooring.Alias{{Class: mooring.ClassGeneric, Value: key}}, nil
		},
		Forget:     func(_ mooring.Tenant, id mooring.SessionID) { n.forgot = append(n.forgot, id) },
		NewSession: func() mooring.SessionID { return made },
		NewMessage: func() mooring.MessageID {
			copies++
			return mooring.MessageID(fmt.Sprint("msg_copy", copies))
		},
		NewKey: func() string { return "api-minted" },
	}}), n
}

// send sends a body as somebody and gives the answer.
func (h house) send(t *testing.T, as, what, body string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, _ := strings.Cut(what, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("X-Mooring-Key", as)
	w := httptest.NewRecorder()
	h.mux.ServeHTTP(w, r)
	return w
}

func TestCreate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, key, title string }{
		{"a key and a title", `{"key":"dir/my talk?","title":"  Ropes  "}`, "dir/my talk?", "Ropes"},
		{"a key that is minted", `{"title":"Ropes"}`, "api-minted", "Ropes"},
		{"an empty object", `{}`, "api-minted", ""},
		{"no body", ``, "api-minted", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, n := writing(&memory{})
			w := h.send(t, "alice", "POST /api/sessions", row.body)
			if w.Code != http.StatusCreated || w.Header().Get("Location") != "/api/sessions/"+made {
				t.Fatalf("answer = %d to %q: %s, want 201", w.Code, w.Header().Get("Location"), w.Body)
			}
			want := []mooring.Change{&mooring.Begin{
				New: true, Aliases: []mooring.Alias{{Class: mooring.ClassGeneric, Value: row.key}},
				Session: mooring.Session{
					Tenant: "acme", ID: made, Key: row.key, FriendlyID: "0000made", Title: row.title, Root: made, Relation: mooring.RelationMain,
					CreatedAt: at(30), UpdatedAt: at(30),
				},
			}}
			if diff := cmp.Diff(want, n.changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			for _, part := range []string{`"id":"` + made + `"`, `"state":null`, `"turns":0`, `"relation":"main"`} {
				if !strings.Contains(w.Body.String(), part) {
					t.Errorf("the answer lacks %s: %s", part, w.Body)
				}
			}
		})
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	title, yes, no := "Knots", true, false
	for _, row := range []struct {
		name, body string
		want       mooring.Patch
	}{
		{"a title, trimmed", `{"title":" Knots\n"}`, mooring.Patch{Title: &title}},
		{"flags", `{"pinned":true,"archived":false}`, mooring.Patch{Pinned: &yes, Archived: &no}},
		{"a tip", `{"tip":"msg_1"}`, mooring.Patch{Tip: "msg_1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, n := writing(&memory{sessions: []mooring.Session{session(one, "talk", 1)}})
			if w := h.send(t, "alice", "PATCH /api/sessions/talk", row.body); w.Code != http.StatusOK {
				t.Fatalf("answer = %d %s, want 200", w.Code, w.Body)
			}
			row.want.Tenant, row.want.Session = "acme", one
			if diff := cmp.Diff([]mooring.Change{&row.want}, n.changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]mooring.SessionID{one}, n.forgot); diff != "" {
				t.Errorf("forgotten (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h, n := writing(&memory{sessions: []mooring.Session{session(one, "talk", 1)}})
	if w := h.send(t, "alice", "DELETE /api/sessions/talk", ""); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Fatalf("answer = %d %q, want 204 without a body", w.Code, w.Body)
	}
	if diff := cmp.Diff([]mooring.Change{&mooring.Delete{Tenant: "acme", Session: one}}, n.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]mooring.SessionID{one}, n.forgot); diff != "" {
		t.Errorf("forgotten (-want +got):\n%s", diff)
	}
}

// branchOf is a talk of that many messages in session one.
func branchOf(n int) []mooring.Message {
	var out []mooring.Message
	parent := mooring.MessageID("")
	for i := 1; i <= n; i++ {
		m := mooring.Message{
			Tenant: "acme", Session: one, ID: mooring.MessageID(fmt.Sprintf("msg_%03d", i)), Parent: parent, Turn: "trn_1", Role: "user", State: mooring.Completed,
			Protocol: mooring.Chat, Content: fmt.Appendf(nil, `{"role":"user","content":"word %d <&>"}`, i), Branches: 1, CreatedAt: at(i % 60),
		}
		parent = m.ID
		out = append(out, m)
	}
	return out
}

func TestFork(t *testing.T) {
	t.Parallel()
	source := session(one, "talk", 1)
	source.Root, source.Title, source.Client, source.Project = two, "Ropes", "opencode", "harbour"
	h, n := writing(&memory{sessions: []mooring.Session{source}, messages: branchOf(4)})
	w := h.send(t, "alice", "POST /api/sessions/talk/fork", `{"message_id":"msg_003"}`)
	if w.Code != http.StatusCreated {
		t.Fatalf("answer = %d %s, want 201", w.Code, w.Body)
	}
	want := []mooring.Change{&mooring.Begin{
		New: true, Aliases: []mooring.Alias{{Class: mooring.ClassGeneric, Value: "api-minted"}},
		Session: mooring.Session{
			Tenant: "acme", ID: made, Key: "api-minted", FriendlyID: "0000made", Title: "Ropes", Client: "opencode", Project: "harbour", Parent: one, Root: two,
			Relation: mooring.RelationFork, Tip: "msg_copy3", CreatedAt: at(30), UpdatedAt: at(30),
		},
		Copies: []mooring.Copy{{From: "msg_001", To: "msg_copy1"}, {From: "msg_002", To: "msg_copy2"}, {From: "msg_003", To: "msg_copy3"}},
	}}
	if diff := cmp.Diff(want, n.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, as, what, body string
		status               int
		code                 mooring.Code
	}{
		{"nobody makes one without a key", "", "POST /api/sessions", `{}`, 401, mooring.CodeInvalidAPIKey},
		{"nor without a tenant", "root", "POST /api/sessions", `{}`, 400, mooring.CodeInvalidRequest},
		{"a key that a session has", "alice", "POST /api/sessions", `{"key":"talk"}`, 409, mooring.CodeAmbiguousKey},
		{"a key that is a session's id", "alice", "POST /api/sessions", `{"key":"` + one + `"}`, 409, mooring.CodeAmbiguousKey},
		{"a key that is no id", "alice", "POST /api/sessions", `{"key":"new"}`, 400, mooring.CodeInvalidSessionID},
		{"a key that is no text", "alice", "POST /api/sessions", `{"key":7}`, 400, mooring.CodeInvalidRequest},
		{"a member that nobody knows", "alice", "POST /api/sessions", `{"name":"x"}`, 400, mooring.CodeInvalidRequest},
		{"a list", "alice", "POST /api/sessions", `[]`, 400, mooring.CodeInvalidJSON},
		{"half an object", "alice", "POST /api/sessions", `{"title":"x"`, 400, mooring.CodeInvalidJSON},
		{"two objects", "alice", "POST /api/sessions", `{}{}`, 400, mooring.CodeInvalidJSON},
		{"a member twice", "alice", "POST /api/sessions", `{"title":"a","title":"b"}`, 400, mooring.CodeInvalidJSON},
		{"half a character", "alice", "POST /api/sessions", "{\"title\":\"\xff\"}", 400, mooring.CodeInvalidJSON},
		{"no body to patch with", "alice", "PATCH /api/sessions/talk", ``, 400, mooring.CodeInvalidRequest},
		{"nothing to patch", "alice", "PATCH /api/sessions/talk", `{}`, 400, mooring.CodeInvalidRequest},
		{"null for a title", "alice", "PATCH /api/sessions/talk", `{"title":null}`, 400, mooring.CodeInvalidRequest},
		{"text for a flag", "alice", "PATCH /api/sessions/talk", `{"pinned":"true"}`, 400, mooring.CodeInvalidRequest},
		{"no message for a tip", "alice", "PATCH /api/sessions/talk", `{"tip":""}`, 400, mooring.CodeInvalidRequest},
		{"what is not to be changed", "alice", "PATCH /api/sessions/talk", `{"key":"x"}`, 400, mooring.CodeInvalidRequest},
		{"a title of 201 characters", "alice", "PATCH /api/sessions/talk", `{"title":"` + strings.Repeat("é", 201) + `"}`, 400, mooring.CodeInvalidRequest},
		{"an unknown session", "alice", "PATCH /api/sessions/nope", `{"title":"x"}`, 404, mooring.CodeSessionNotFound},
		{"another tenant's, patched", "bob", "PATCH /api/sessions/" + one, `{"title":"x"}`, 404, mooring.CodeSessionNotFound},
		{"another tenant's, deleted", "bob", "DELETE /api/sessions/" + one, ``, 404, mooring.CodeSessionNotFound},
		{"another tenant's, forked", "bob", "POST /api/sessions/" + one + "/fork", `{"message_id":"msg_001"}`, 404, mooring.CodeSessionNotFound},
		{"an ambiguous key", "alice", "DELETE /api/sessions/twin", ``, 409, mooring.CodeAmbiguousKey},
		{"a fork of nothing", "alice", "POST /api/sessions/talk/fork", ``, 400, mooring.CodeInvalidRequest},
		{"a fork without a message", "alice", "POST /api/sessions/talk/fork", `{}`, 400, mooring.CodeInvalidRequest},
		{"a fork at another session's message", "alice", "POST /api/sessions/twin2/fork", `{"message_id":"msg_001"}`, 404, mooring.CodeNotFound},
		{"an operator changes no tenant", "root", "DELETE /api/sessions/" + one + "?tenant=acme", ``, 404, mooring.CodeNotFound},
		{"a user names no tenant", "bob", "PATCH /api/sessions/" + one + "?tenant=acme", `{"title":"x"}`, 403, mooring.CodeOperatorRequired},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, n := writing(&memory{messages: branchOf(2), sessions: []mooring.Session{
				session(one, "talk", 1), session(two, "twin", 2), session(three, "twin", 3), session("ses_01K00000000000000000TWINX0", "twin2", 4),
			}})
			refused(t, h.send(t, row.as, row.what, row.body), row.status, row.code)
			if len(n.changes) != 0 {
				t.Errorf("%d changes were made", len(n.changes))
			}
		})
	}
}

func TestWhatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, what, body string
		err              error
		status           int
		code             mooring.Code
	}{
		{"of two that make a key at once one wins", "POST /api/sessions", `{"key":"x"}`, mooring.Errorf(mooring.CodeSessionTaken, "x"), 409, mooring.CodeAmbiguousKey},
		{"a source that goes", "POST /api/sessions/talk/fork", `{"message_id":"msg_001"}`, mooring.Errorf(mooring.CodeSessionGone, "x"), 404, mooring.CodeSessionNotFound},
		{"a session that goes", "DELETE /api/sessions/talk", ``, mooring.Errorf(mooring.CodeSessionNotFound, "x"), 404, mooring.CodeSessionNotFound},
		{"a tip that is none", "PATCH /api/sessions/talk", `{"tip":"msg_9"}`, mooring.Errorf(mooring.CodeNotFound, "x"), 404, mooring.CodeNotFound},
		{"a store that is down", "PATCH /api/sessions/talk", `{"title":"x"}`, mooring.Errorf(mooring.CodeStoreUnavailable, "x"), 503, mooring.CodeStoreUnavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, n := writing(&memory{sessions: []mooring.Session{session(one, "talk", 1)}, messages: branchOf(1)})
			n.err = row.err
			refused(t, h.send(t, "alice", row.what, row.body), row.status, row.code)
		})
	}
}

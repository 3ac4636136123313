package workspace_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/store/sqlite"
	"mooring/internal/workspace"
)

// talk is a session of one turn as a client began it: two messages and an answer.
func talk(n int, key string) []mooring.Change {
	id := fmt.Sprintf("01K00000000000000000000%03d", n)
	s := session("ses_"+id, key, n)
	s.Upstream, s.Models, s.Client = "demo", []string{"echo"}, "curl"
	message := func(part, parent, role, text string) mooring.Message {
		m := mooring.Message{
			Tenant: s.Tenant, Session: s.ID, ID: mooring.MessageID("msg_" + part + id[1:]), Turn: mooring.TurnID("trn_" + id), Role: role,
			State: mooring.Completed, Protocol: mooring.Chat, Digest: []byte(part + id), CreatedAt: at(n),
			Content: fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text),
		}
		if parent != "" {
			m.Parent = mooring.MessageID("msg_" + parent + id[1:])
		}
		return m
	}
	asked := []mooring.Message{message("1", "", "user", "what holds a boat"), message("2", "1", "user", "be brief")}
	answer := message("3", "2", "assistant", "a bollard")
	turn := mooring.Turn{
		Tenant: s.Tenant, ID: mooring.TurnID("trn_" + id), Session: s.ID, Kind: mooring.KindMain, Protocol: mooring.Chat, Model: "echo",
		State: mooring.Running, Identity: "header:x-session-id", Question: asked[1].ID, StartedAt: at(n),
	}
	ended := turn
	ended.State, ended.Answer, ended.Status, ended.EndedAt = mooring.Completed, answer.ID, http.StatusOK, at(n)
	ended.Usage = mooring.Usage{Input: mooring.Count(7), Output: mooring.Count(3)}
	return []mooring.Change{
		&mooring.Begin{
			Session: s, New: true, Aliases: []mooring.Alias{{Class: mooring.ClassGeneric, Value: key}}, Turn: turn, Messages: asked,
		},
		&mooring.End{Turn: ended, Answer: &answer},
	}
}

// TestOverSQLite reads through the real store what it was told.
func TestOverSQLite(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db"), BlobKey: []byte("a key for tests")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	keys := []string{"Team-A/Chat-01", "caf\xe9", "plain"}
	for n, key := range keys {
		changes := talk(n, key)
		if err := store.Apply(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if err := c.Outcome(); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := open(workspace.Options{Store: store})

	type seen struct {
		ID       string
		State    string
		Upstream string
		Turns    int
		Usage    struct {
			Input int `json:"input_tokens"`
		}
	}
	want := seen{ID: "ses_01K00000000000000000000001", State: "completed", Upstream: "demo", Turns: 1}
	want.Usage.Input = 7
	var got seen
	h.read(t, "alice", "/api/sessions/"+url.PathEscape(keys[1]), &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}

	var branch struct{ Messages []struct{ Role, Text string } }
	h.read(t, "alice", "/api/sessions/Team-A%2FChat-01/messages", &branch)
	if diff := cmp.Diff([]struct{ Role, Text string }{{"user", "what holds a boat"}, {"user", "be brief"}, {"assistant", "a bollard"}}, branch.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}

	var turns struct{ Turns []struct{ ID, State string } }
	h.read(t, "alice", "/api/sessions/Team-A%2FChat-01/turns", &turns)
	if diff := cmp.Diff([]struct{ ID, State string }{{"trn_01K00000000000000000000000", "completed"}}, turns.Turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}

	var first, second listing
	h.read(t, "alice", "/api/sessions?limit=2", &first)
	if first.NextCursor == nil || len(first.Sessions) != 2 || first.Total != len(keys) {
		t.Fatalf("first page = %+v, want two of three and a cursor", first)
	}
	h.read(t, "alice", "/api/sessions?cursor="+*first.NextCursor, &second)
	if len(second.Sessions) != 1 || second.Sessions[0].ID != "ses_01K00000000000000000000000" || second.NextCursor != nil {
		t.Errorf("second page = %+v, want the oldest session and no cursor", second)
	}

	refused(t, h.get(t, "bob", "/api/sessions/plain"), 404, mooring.CodeSessionNotFound)
	refused(t, h.get(t, "bob", "/api/turns/trn_01K00000000000000000000000"), 404, mooring.CodeNotFound)
	refused(t, h.get(t, "alice", "/api/sessions/plain/messages?tip=msg_none"), 404, mooring.CodeNotFound)
}

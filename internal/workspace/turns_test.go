package workspace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func TestMessagePages(t *testing.T) {
	t.Parallel()
	m := &memory{sessions: []mooring.Session{session(one, "talk", 1)}}
	var parent mooring.MessageID
	for _, id := range []mooring.MessageID{"msg_1", "msg_2", "msg_3", "msg_4", "msg_5"} {
		m.messages = append(m.messages, mooring.Message{
			Session: one, ID: id, Parent: parent, Turn: "trn_1", Role: "user", State: mooring.Completed, Protocol: mooring.Chat,
			Content: []byte(`{"role":"user","content":"hello"}`), Branches: 1, CreatedAt: at(1),
		})
		parent = id
	}
	h := over(m)

	type page struct {
		SessionID  string                `json:"session_id"`
		Messages   []struct{ ID string } `json:"messages"`
		NextCursor *string               `json:"next_cursor"`
	}
	var pages []string
	before := ""
	for {
		var p page
		h.read(t, "alice", "/api/sessions/talk/messages?limit=2&tip=msg_5&before="+before, &p)
		if p.SessionID != one {
			t.Errorf("session_id = %s, want %s", p.SessionID, one)
		}
		ids := make([]string, len(p.Messages))
		for i, x := range p.Messages {
			ids[i] = x.ID
		}
		pages = append(pages, strings.Join(ids, " "))
		if p.NextCursor == nil {
			break
		}
		before = *p.NextCursor
	}
	if diff := cmp.Diff([]string{"msg_4 msg_5", "msg_2 msg_3", "msg_1"}, pages); diff != "" {
		t.Errorf("pages, last first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(mooring.BranchPage{Tip: "msg_5", Before: "msg_2", Limit: 2, Bytes: 8 << 20}, m.branch); diff != "" {
		t.Errorf("last page asked of the store (-want +got):\n%s", diff)
	}
	refused(t, h.get(t, "alice", "/api/sessions/talk/messages?limit=201"), 400, mooring.CodeInvalidRequest)
	refused(t, h.get(t, "alice", "/api/sessions/talk/messages?tip=msg_9"), 404, mooring.CodeNotFound)
}

func TestTurnPages(t *testing.T) {
	t.Parallel()
	m := &memory{sessions: []mooring.Session{session(one, "talk", 1)}}
	for _, id := range []mooring.TurnID{"trn_1", "trn_2", "trn_3"} {
		m.turns = append(m.turns, mooring.Turn{Tenant: "acme", ID: id, Session: one, State: mooring.Completed, StartedAt: at(1)})
	}
	h := over(m)
	type page struct {
		Turns      []struct{ ID string }
		NextCursor *string `json:"next_cursor"`
	}
	var last, first page
	h.read(t, "alice", "/api/sessions/talk/turns?limit=2", &last)
	if len(last.Turns) != 2 || last.Turns[0].ID != "trn_2" || last.NextCursor == nil {
		t.Fatalf("last page = %+v, want the second and third turn, and a cursor", last)
	}
	h.read(t, "alice", "/api/sessions/talk/turns?before="+*last.NextCursor, &first)
	if len(first.Turns) != 1 || first.Turns[0].ID != "trn_1" || first.NextCursor != nil {
		t.Errorf("first page = %+v, want the first turn and no cursor", first)
	}
	if diff := cmp.Diff(mooring.TurnPage{Before: "trn_2", Limit: 200}, m.turnPage); diff != "" {
		t.Errorf("last page asked of the store (-want +got):\n%s", diff)
	}
	refused(t, h.get(t, "alice", "/api/sessions/talk/turns?limit=201"), 400, mooring.CodeInvalidRequest)
}

func TestMessageJSON(t *testing.T) {
	t.Parallel()
	m := &memory{sessions: []mooring.Session{session(one, "talk", 1)}, messages: []mooring.Message{
		{
			Session: one, ID: "msg_1", Turn: "trn_1", Role: "user", State: mooring.Completed, Protocol: mooring.Chat,
			Content: []byte(`{"role":"user","content":"hello"}`), Branches: 2, CreatedAt: at(1),
		},
		{Session: one, ID: "msg_2", Parent: "msg_1", Role: "assistant", State: mooring.Running, Protocol: mooring.Chat, Branches: 1, CreatedAt: at(2)},
	}}
	want := `{"session_id":"` + one + `","messages":[` +
		`{"id":"msg_1","parent_id":null,"branch_count":2,"turn_id":"trn_1","role":"user","content":[{"type":"text","text":"hello"}],` +
		`"text":"hello","state":"completed","created_at":"2026-11-29T09:01:00.123Z","siblings":["msg_1"]},` +
		`{"id":"msg_2","parent_id":"msg_1","branch_count":1,"turn_id":null,"role":"assistant","content":[],` +
		`"text":"","state":"running","created_at":"2026-11-29T09:02:00.123Z","siblings":["msg_2"]}],"next_cursor":null}`
	got := strings.TrimSpace(over(m).get(t, "alice", "/api/sessions/talk/messages").Body.String())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestTurnJSON(t *testing.T) {
	t.Parallel()
	cost := 0.004920000000000001
	done := mooring.Turn{
		Tenant: "acme", ID: "trn_1", Session: one, Kind: mooring.KindMain, Protocol: mooring.Messages, Model: "echo", Key: "alice",
		Stream: true, State: mooring.Completed, Upstream: "demo", Account: "first", Pin: mooring.PinNew, Identity: "header:x-session-id",
		Evidence: []mooring.Evidence{{Signal: "header:x-session-id", Value: "talk", Use: "decided"}},
		Question: "msg_1", Answer: "msg_2", View: &mooring.View{From: "msg_1", Sent: 1},
		Attempts: []mooring.Attempt{{
			Upstream: "demo", State: mooring.Failed, Status: 500, Reason: "the upstream failed",
			StartedAt: at(1), EndedAt: at(1).Add(time.Second),
		}},
		Usage: mooring.Usage{Input: mooring.Count(3), Output: mooring.Count(4)}, CostUSD: &cost, Status: 200,
		BodyDigest: []byte("secret digest"), Replica: "a-replica",
		StartedAt: at(1), FirstAt: at(1).Add(20 * time.Millisecond), EndedAt: at(1).Add(1500 * time.Millisecond),
	}
	running := mooring.Turn{
		Tenant: "acme", ID: "trn_2", Session: one, Kind: mooring.KindMain, Protocol: mooring.Chat, State: mooring.Running,
		Identity: "minted", Question: "msg_3", StartedAt: at(2),
	}
	h := over(&memory{sessions: []mooring.Session{session(one, "talk", 1)}, turns: []mooring.Turn{done, running}})

	wantDone := `{"id":"trn_1","session_id":"` + one + `","kind":"main","protocol":"messages","model":"echo","stream":true,` +
		`"state":"completed","status":200,"error_code":null,"upstream":"demo","account":"first","pin":"new","identity":"header:x-session-id",` +
		`"evidence":[{"signal":"header:x-session-id","value":"talk","use":"decided"}],` +
		`"attempts":[{"upstream":"demo","account":null,"why":null,"alias":null,"model":"echo","tries":1,"state":"failed","status":500,"reason":"the upstream failed",` +
		`"usage":{"input_tokens":null,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null},` +
		`"started_at":"2026-11-29T09:01:00.123Z","ended_at":"2026-11-29T09:01:01.123Z","duration_ms":1000}],` +
		`"usage":{"input_tokens":3,"output_tokens":4,"cache_read_tokens":null,"cache_write_tokens":null},"cost_usd":0.00492,` +
		`"started_at":"2026-11-29T09:01:00.123Z","first_byte_at":"2026-11-29T09:01:00.143Z","ended_at":"2026-11-29T09:01:01.623Z",` +
		`"duration_ms":1500,"question_id":"msg_1","answer_id":"msg_2","view":{"from":"msg_1","sent":1}}`
	wantRunning := `{"id":"trn_2","session_id":"` + one + `","kind":"main","protocol":"chat","model":null,"stream":false,` +
		`"state":"running","status":null,"error_code":null,"upstream":null,"account":null,"pin":null,"identity":"minted",` +
		`"evidence":[],"attempts":[],` +
		`"usage":{"input_tokens":null,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null},"cost_usd":null,` +
		`"started_at":"2026-11-29T09:02:00.123Z","first_byte_at":null,"ended_at":null,` +
		`"duration_ms":null,"question_id":"msg_3","answer_id":null,"view":null}`
	for _, row := range []struct{ name, target, want string }{
		{"one turn", "/api/turns/trn_1", wantDone},
		{"a running turn has no end", "/api/turns/trn_2", wantRunning},
		{"the turns of a session", "/api/sessions/talk/turns", `{"turns":[` + wantDone + `,` + wantRunning + `],"next_cursor":null}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, strings.TrimSpace(h.get(t, "alice", row.target).Body.String())); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("another tenant's turn is not found", func(t *testing.T) {
		t.Parallel()
		refused(t, h.get(t, "bob", "/api/turns/trn_1"), 404, mooring.CodeNotFound)
	})
}

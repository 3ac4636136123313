package workspace_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func TestExportLines(t *testing.T) {
	t.Parallel()
	h := over(&memory{sessions: []mooring.Session{withTip(session(one, "talk", 1), "msg_200")}, messages: branchOf(200)})
	w := h.get(t, "alice", "/api/sessions/talk/export?format=jsonl")
	if w.Code != http.StatusOK {
		t.Fatalf("answer = %d %s", w.Code, w.Body)
	}
	lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	if len(lines) != 201 {
		t.Fatalf("%d lines, want the session and 200 messages", len(lines))
	}
	var first struct{ ID, Key string }
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.ID != one || first.Key != "talk" {
		t.Errorf("first line %s: %v", lines[0], err)
	}
	var texts, want []string
	for i, line := range lines[1:] {
		var m struct{ Text string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Text)
		want = append(want, "word "+strings.TrimSpace(strings.TrimLeft(string(branchOf(200)[i].ID), "msg_0"))+" <&>")
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"Content-Disposition": `attachment; filename="` + one + `.jsonl"`, "Content-Type": "application/jsonl; charset=utf-8", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if again := h.get(t, "alice", "/api/sessions/talk/export"); again.Body.String() != w.Body.String() {
		t.Error("the same export twice differs, or JSON Lines are not what comes without a format")
	}
	if part := h.get(t, "alice", "/api/sessions/talk/export?tip=msg_003"); strings.Count(part.Body.String(), "\n") != 4 {
		t.Errorf("export up to the third message: %s", part.Body)
	}
}

func withTip(s mooring.Session, tip mooring.MessageID) mooring.Session {
	s.Tip = tip
	return s
}

func TestExportMarkdown(t *testing.T) {
	t.Parallel()
	s := withTip(session(one, "a`b", 1), "msg_3")
	s.Title, s.Client, s.Models, s.Turns = "# Ropes\n<b> & knots", "opencode", []string{"m1", "m2"}, 2
	message := func(id, parent mooring.MessageID, role, content string) mooring.Message {
		return mooring.Message{
			Tenant: "acme", Session: one, ID: id, Parent: parent, Role: role, State: mooring.Completed, Protocol: mooring.Chat, CreatedAt: at(3),
			Content: []byte(`{"role":"x","content":` + content + `}`),
		}
	}
	h := over(&memory{sessions: []mooring.Session{s}, messages: []mooring.Message{
		message("msg_1", "", "user", `[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`),
		message("msg_2", "msg_1", "assistant", `"`+"```go\\n\\tx := a < b && c\\n```"+`\n"`),
		message("msg_3", "msg_2", "tool\n# x", `""`),
	}})
	want := "# \\# Ropes \\<b\\> \\& knots\n\n- Session: `" + one + "`\n- Key: `` a`b ``\n- Client: `opencode`\n- Models: `m1, m2`\n- Turns: 2\n" +
		"- Created: 2026-11-29T09:00:00Z\n- Last activity: 2026-11-29T09:01:00Z\n" +
		"\n## user, 2026-11-29T09:03:00Z\n\nsee\n[screenshot]\n" +
		"\n## assistant, 2026-11-29T09:03:00Z\n\n```go\n\tx := a < b && c\n```\n" +
		"\n## tool \\# x, 2026-11-29T09:03:00Z\n\n*no text*\n"
	w := h.get(t, "alice", "/api/sessions/"+one+"/export?format=markdown")
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="`+one+`.md"` {
		t.Errorf("Content-Disposition = %q", got)
	}
}

func TestExportRefusals(t *testing.T) {
	t.Parallel()
	h := over(&memory{sessions: []mooring.Session{withTip(session(one, "talk", 1), "msg_002"), session(two, "empty", 2)}, messages: branchOf(2)})
	refused(t, h.get(t, "alice", "/api/sessions/talk/export?format=pdf"), 400, mooring.CodeInvalidRequest)
	refused(t, h.get(t, "alice", "/api/sessions/talk/export?tip=msg_9"), 404, mooring.CodeNotFound)
	refused(t, h.get(t, "alice", "/api/sessions/nope/export"), 404, mooring.CodeSessionNotFound)
	refused(t, h.get(t, "bob", "/api/sessions/talk/export"), 404, mooring.CodeSessionNotFound)
	refused(t, h.get(t, "root", "/api/sessions/talk/export?tenant=acme"), 404, mooring.CodeNotFound)
	if w := h.get(t, "alice", "/api/sessions/empty/export"); w.Code != http.StatusOK || strings.Count(w.Body.String(), "\n") != 1 {
		t.Errorf("a session without messages = %d %s, want its own line", w.Code, w.Body)
	}
}

func TestExportThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	m := &memory{sessions: []mooring.Session{withTip(session(one, "talk", 1), "msg_070")}, messages: branchOf(70)}
	m.afterBranch = func() { m.broken = errDisk } // after the first page
	h := over(m)
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // the sentinel is panicked with as it is
			t.Error("the answer was ended in order")
		}
	}()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/sessions/talk/export", http.NoBody)
	r.Header.Set("X-Mooring-Key", "alice")
	h.mux.ServeHTTP(httptest.NewRecorder(), r)
}

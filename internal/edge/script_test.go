package edge_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestScript runs the continuity script through the table of its states.
func TestScript(t *testing.T) {
	t.Parallel()
	type answer = map[string]any
	good := func(streaming bool) answer {
		return answer{"status": 200, "json": answer{"session": answer{"is_streaming": streaming}}}
	}
	const other = "Somebody else has signed in here; this page is not theirs."
	of := func(whose string, a answer) answer {
		a = maps.Clone(a)
		a["headers"] = answer{"X-Mooring-Page": whose}
		return a
	}
	gone := answer{"status": 404, "json": answer{"error": "Session not found"}}
	const ask = "/api/session?session_id=abc&messages=1&msg_limit=1&resolve_model=0"
	rows := []struct {
		name    string
		page    answer // path, stored, answers, polls, focus, twice
		text    string
		link    string
		asked   int
		from    int // the next question comes so many seconds later at least,
		to      int // and so many at most; 0 for never
		another string
	}{
		{name: "T-25 a session at rest shows nothing", page: answer{"answers": []answer{good(false)}}, asked: 1, from: 3, to: 15},
		{name: "T-25 one that works says so, and is asked about again soon", page: answer{"answers": []answer{good(true)}}, text: "Working…", asked: 1, from: 3, to: 3},
		{name: "T-25 and no longer when it rests", page: answer{"answers": []answer{good(true), good(false)}}, asked: 2, from: 3, to: 3},
		{name: "T-25 R4 another profile's is named, and not switched to", page: answer{"answers": []answer{{"status": 409, "json": answer{"code": "session_profile_mismatch", "profile": "<b>work"}}}}, text: "This session belongs to a different profile: <b>work. Switch to it in the profile menu to go on.", asked: 1, from: 15, to: 15},
		{name: "T-25 another conflict changes nothing", page: answer{"answers": []answer{{"status": 409, "json": answer{"code": "x"}}}}, asked: 1, from: 15, to: 15},
		{name: "T-25 R1 one that is gone says so", page: answer{"answers": []answer{gone}}, text: "This session is no longer stored.", link: "/", asked: 1, from: 15, to: 15},
		{name: "T-25 R1 and is not asked about for ever", page: answer{"answers": []answer{gone, gone, gone, gone, gone}}, text: "This session is no longer stored.", link: "/", asked: 4},
		{name: "T-25 R10 401", page: answer{"answers": []answer{{"status": 401, "json": answer{}}}, "polls": 3}, text: "You are signed out here.", link: "/oauth2/start?rd=%2Fsession%2Fabc", asked: 1},
		{name: "T-25 403", page: answer{"answers": []answer{{"status": 403, "json": answer{}}}, "polls": 3}, text: "You are signed out here.", link: "/oauth2/start?rd=%2Fsession%2Fabc", asked: 1},
		{name: "T-25 R10 a redirect", page: answer{"answers": []answer{{"status": 0, "type": "opaqueredirect"}}, "polls": 3}, text: "You are signed out here.", link: "/oauth2/start?rd=%2Fsession%2Fabc", asked: 1},
		{name: "T-25 a page instead of JSON", page: answer{"answers": []answer{{"status": 200, "contentType": "text/html"}}, "polls": 3}, text: "You are signed out here.", link: "/oauth2/start?rd=%2Fsession%2Fabc", asked: 1},
		{name: "T-25 R9 it goes to no login by itself, and asks again when it is looked at", page: answer{"answers": []answer{{"status": 401, "json": answer{}}, good(false)}, "polls": 1, "focus": true}, asked: 2},
		{name: "an answer for the page's own tenant is as any", page: answer{"answers": []answer{of("mine", gone)}}, text: "This session is no longer stored.", link: "/", asked: 1, from: 15, to: 15},
		{name: "one for somebody else says so: the session may well be stored", page: answer{"answers": []answer{of("theirs", gone)}, "polls": 3}, text: other, link: "/", asked: 1},
		{name: "also where they have a session of that name", page: answer{"answers": []answer{of("theirs", good(true))}, "polls": 3}, text: other, link: "/", asked: 1},
		{name: "and it ends when the page's own tenant is back", page: answer{"answers": []answer{of("theirs", gone), of("mine", good(false))}, "polls": 1, "focus": true}, asked: 2},
		{name: "T-25 503 keeps what is shown, for as long as it says", page: answer{"answers": []answer{good(true), {"status": 503, "headers": answer{"Retry-After": "7"}}}}, text: "Working…", asked: 2, from: 7, to: 7},
		{name: "T-25 429 without a time", page: answer{"answers": []answer{{"status": 429}}}, asked: 1, from: 15, to: 15},
		{name: "T-25 one failure says nothing", page: answer{"answers": []answer{{"error": true}}}, asked: 1, from: 12, to: 18},
		{name: "T-25 two do", page: answer{"answers": []answer{{"error": true}, {"status": 500}}}, text: "Reconnecting…", asked: 2, from: 12, to: 18},
		{name: "T-25 and an answer ends it", page: answer{"answers": []answer{{"error": true}, {"status": 502}, good(false)}}, asked: 3, from: 3, to: 15},
		{name: "T-25 a page without a session asks nothing", page: answer{"path": "/", "answers": []answer{}}, asked: 0, from: 15, to: 15},
		{name: "T-25 the session that the web UI remembers", page: answer{"path": "/", "stored": "abc", "answers": []answer{good(true)}}, text: "Working…", asked: 1, from: 3, to: 3},
		{name: "T-25 a path that is no session's", page: answer{"path": "/session/static/x", "answers": []answer{}}, asked: 0, from: 15, to: 15},
		{name: "T-25 an answer about a session that the page has left counts for nothing, and the next is asked about", page: answer{"answers": []answer{{"status": 404, "json": answer{"error": "x"}, "moveTo": "/session/next"}, good(true)}, "polls": 1}, text: "Working…", asked: 2, from: 3, to: 3, another: "session_id=next&"},
		{name: "T-25 twice in one page it runs once", page: answer{"answers": []answer{good(true)}, "twice": true}, text: "Working…", asked: 1, from: 3, to: 3},
	}
	pages := make([]answer, len(rows))
	for i, row := range rows {
		pages[i] = row.page
	}
	in, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "node", "testdata/script.mjs", "continuity.js")
	run.Stdin = bytes.NewReader(in)
	var words bytes.Buffer
	run.Stderr = &words
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, words.String())
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(rows) {
		t.Fatalf("%d results of %d rows: %s", len(lines), len(rows), words.String())
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Asked                                     []string
				Accept, Redirect, Cache, Text, Link, Path string
				Wait                                      int
			}
			if err := json.Unmarshal(lines[i], &got); err != nil {
				t.Fatal(err)
			}
			if got.Text != row.text || got.Link != row.link || len(got.Asked) != row.asked || got.Wait < row.from || got.Wait > row.to {
				t.Errorf("%s; want %+v", lines[i], row)
			}
			if row.asked > 0 && (got.Asked[0] != ask || got.Accept != "application/json" || got.Redirect != "manual" || got.Cache != "no-store") {
				t.Errorf("it asked %s", lines[i])
			}
			if row.another != "" && !slices.ContainsFunc(got.Asked, func(a string) bool { return strings.Contains(a, row.another) }) {
				t.Errorf("it asked %q, not for %s", got.Asked, row.another)
			}
		})
	}
}

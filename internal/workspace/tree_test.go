package workspace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func child(id string, minute int, parent, root mooring.SessionID, tokens int64) mooring.Session {
	s := session(id, "key of "+id, minute)
	s.Parent, s.Root, s.Relation = parent, root, mooring.RelationSubagent
	cost := float64(tokens) / 10
	s.Usage, s.CostUSD = mooring.Usage{Input: mooring.Count(tokens)}, &cost
	return s
}

type node struct {
	ID        string
	TreeUsage struct {
		Input *int64   `json:"input_tokens"`
		Cost  *float64 `json:"cost_usd"`
	} `json:"tree_usage"`
	Children []node
}

// outline is a tree in one line: id, tokens and cost of each, children in brackets.
func (n node) outline() string {
	cost := "?"
	if n.TreeUsage.Cost != nil {
		cost = fmt.Sprint(*n.TreeUsage.Cost)
	}
	text := fmt.Sprintf("%s %d $%s", n.ID[len(n.ID)-1:], *n.TreeUsage.Input, cost)
	var below []string
	for _, c := range n.Children {
		below = append(below, c.outline())
	}
	if len(below) > 0 {
		text += " [" + strings.Join(below, ", ") + "]"
	}
	return text
}

func TestTree(t *testing.T) {
	t.Parallel()
	id := func(last string) mooring.SessionID { return mooring.SessionID("ses_01K0000000000000000000000" + last) }
	top := child(string(id("A")), 1, "", id("A"), 1)
	unpriced := child(string(id("E")), 5, id("C"), id("A"), 16)
	unpriced.CostUSD = nil
	h := over(&memory{sessions: []mooring.Session{
		top, child(string(id("B")), 2, id("A"), id("A"), 2), child(string(id("C")), 3, id("A"), id("A"), 4), child(string(id("D")), 4, id("B"), id("A"), 8), unpriced,
	}})
	var got node
	h.read(t, "alice", "/api/sessions/"+string(id("A"))+"/tree", &got)
	if want := "A 31 $? [B 10 $1 [D 8 $0.8], C 20 $? [E 16 $?]]"; got.outline() != want {
		t.Errorf("tree = %s, want %s", got.outline(), want)
	}
	if !strings.Contains(h.get(t, "alice", "/api/sessions/"+string(id("A"))+"/tree").Body.String(), `"children":[]`) {
		t.Error("a session without children has no empty list of them")
	}
}

func TestDeepTreeAndTooLargeTree(t *testing.T) {
	t.Parallel()
	m := &memory{}
	parent, root := mooring.SessionID(""), mooring.SessionID("ses_01K00000000000000000000000")
	for i := range 10_001 {
		id := fmt.Sprintf("ses_01K%023d", i)
		m.sessions = append(m.sessions, child(id, 1, parent, root, 1))
		parent = mooring.SessionID(id)
	}
	h := over(m)
	if w := h.get(t, "alice", "/api/sessions/"+string(root)+"/tree"); w.Code != 200 || strings.Count(w.Body.String(), `"id":`) != 10_001 {
		t.Errorf("a tree 10,000 deep = %d with %d sessions", w.Code, strings.Count(w.Body.String(), `"id":`))
	}
	m.sessions = append(m.sessions, child("ses_01K9999999999999999999999X", 1, parent, root, 1))
	refused(t, h.get(t, "alice", "/api/sessions/"+string(root)+"/tree"), 400, mooring.CodeInvalidRequest)
}

func TestTreeUseIsOneQueryAPage(t *testing.T) {
	t.Parallel()
	m := &memory{sessions: []mooring.Session{session(one, "a", 1), session(two, "b", 2), session(three, "c", 3)}}
	over(m).read(t, "alice", "/api/sessions", new(listing))
	if diff := cmp.Diff([][]mooring.SessionID{{three, two, one}}, m.summed); diff != "" {
		t.Errorf("sums asked for (-want +got):\n%s", diff)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	half, quarter := 0.5, 0.25
	spent := func(tokens int64, cost *float64) mooring.Spending {
		return mooring.Spending{Usage: mooring.Usage{Input: mooring.Count(tokens)}, CostUSD: cost}
	}
	m := &memory{figures: mooring.Figures{
		Sessions: 3, Side: 1, Archived: 2, Turns: 9, Spent: spent(90, &half),
		Recent: []mooring.Tally{
			{State: mooring.Completed, Pin: mooring.PinHit, Upstream: "north", Model: "a", Turns: 2, Spent: spent(20, &quarter)},
			{State: mooring.Completed, Pin: mooring.PinNew, Upstream: "south", Model: "a", Turns: 3, Spent: spent(30, &quarter)},
			{State: mooring.Failed, Upstream: "", Model: "b", Turns: 1, Spent: spent(10, nil)},
		},
	}}
	h := over(m)
	usage := func(tokens, cost string) string {
		return `{"input_tokens":` + tokens + `,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":` + cost + `}`
	}
	want := `{"sessions":{"total":3,"archived":2,"side_only":1},"turns":9,"usage":` + usage("90", "0.5") + `,"last_24h":{"since":"2026-11-28T09:30:00.123Z",` +
		`"turns":{"cancelled":0,"completed":5,"failed":1,"interrupted":0,"running":0},"pins":{"hit":2,"moved":0,"new":3,"spill":0},"usage":` + usage("60", "null") + `,"by_upstream":[` +
		`{"upstream":null,"turns":1,"usage":` + usage("10", "null") + `},{"upstream":"north","turns":2,"usage":` + usage("20", "0.25") + `},` +
		`{"upstream":"south","turns":3,"usage":` + usage("30", "0.25") + `}],"by_model":[{"model":"a","turns":5,"usage":` + usage("50", "0.5") + `},` +
		`{"model":"b","turns":1,"usage":` + usage("10", "null") + `}]},"prices":{"date":"2026-09-23","source":"a list","models":3}}`
	if diff := cmp.Diff(want, strings.TrimSpace(h.get(t, "alice", "/api/stats").Body.String())); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if want := at(30).Add(-24 * time.Hour); !m.since.Equal(want) {
		t.Errorf("recent turns since %s, want %s", m.since, want)
	}
	m.figures = mooring.Figures{Spent: mooring.Spending{CostUSD: new(0.0)}}
	if got := h.get(t, "alice", "/api/stats").Body.String(); !strings.Contains(got, `"by_upstream":[],"by_model":[]`) || strings.Count(got, `"cost_usd":0`) != 2 {
		t.Errorf("stats of nothing: %s", got)
	}
}

package workspace_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/workspace"
)

const (
	one   = "ses_01K0000000000000000000ONE0"
	two   = "ses_01K0000000000000000000TWO0"
	three = "ses_01K000000000000000000THREE"
)

func TestFindSession(t *testing.T) {
	t.Parallel()
	short := session("ses_01K0000000000000000000SHORT", "another", 7)
	short.FriendlyID = "quay"
	h := over(&memory{sessions: []mooring.Session{
		short,
		session(one, "Team-A/Chat-01", 1),
		session(two, one, 2), // its key has another session's id
		session(three, "ses_01K00000000000000000000KEY", 3),
		session("ses_01K00000000000000000BYTES0", "caf\xe9", 4),
		session("ses_01K0000000000000000000TWIN", "twin", 5),
		session("ses_01K00000000000000000TWINX0", "twin", 6),
	}})
	for _, row := range []struct {
		name, segment, want string
	}{
		{"internal id", two, two},
		{"an id comes before an equal key", one, one},
		{"a slash in a key is escaped", "Team-A%2FChat-01", one},
		{"a key may look like an id", "ses_01K00000000000000000000KEY", three},
		{"a key is found by its bytes", "caf%E9", "ses_01K00000000000000000BYTES0"},
		{"the pages' short name comes last", "quay", string(short.ID)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, below := range []string{"", "/messages", "/turns"} {
				if w := h.get(t, "alice", "/api/sessions/"+row.segment+below); w.Code != http.StatusOK {
					t.Errorf("GET {id}%s = %d %s, want 200", below, w.Code, w.Body)
				}
			}
			var got struct{ ID string }
			h.read(t, "alice", "/api/sessions/"+row.segment, &got)
			if got.ID != row.want {
				t.Errorf("id = %s, want %s", got.ID, row.want)
			}
		})
	}
	t.Run("a key of two sessions is ambiguous", func(t *testing.T) {
		t.Parallel()
		refused(t, h.get(t, "alice", "/api/sessions/twin/turns"), 409, mooring.CodeAmbiguousKey)
	})
	t.Run("an unknown one is not found", func(t *testing.T) {
		t.Parallel()
		refused(t, h.get(t, "alice", "/api/sessions/ses_01K0000000000000000000NONE"), 404, mooring.CodeSessionNotFound)
		refused(t, h.get(t, "alice", "/api/sessions/no%20such"), 404, mooring.CodeSessionNotFound)
	})
	t.Run("another tenant's is not found", func(t *testing.T) {
		t.Parallel()
		refused(t, h.get(t, "bob", "/api/sessions/"+one), 404, mooring.CodeSessionNotFound)
		refused(t, h.get(t, "bob", "/api/sessions/Team-A%2FChat-01/messages"), 404, mooring.CodeSessionNotFound)
	})
}

func TestSessionJSON(t *testing.T) {
	t.Parallel()
	cost := 0.25
	full := session(one, "caf\xe9 <1>", 7)
	full.FriendlyID, full.Title, full.Client, full.Project = "quay", "Ropes & knots", "opencode", "harbour"
	full.Parent, full.Root, full.Relation = two, three, mooring.RelationSubagent
	full.State, full.Upstream, full.Models, full.Turns = mooring.Completed, "demo", []string{"echo"}, 3
	full.Usage = mooring.Usage{Input: mooring.Count(12), Output: mooring.Count(0), CacheWrite5m: mooring.Count(2), CacheWrite1h: mooring.Count(3)}
	full.CostUSD, full.Pinned = &cost, true
	bare := session(two, "api-1", 0)
	bare.Root = ""
	h := over(&memory{sessions: []mooring.Session{full, bare}})

	usage := `{"input_tokens":12,"output_tokens":0,"cache_read_tokens":null,"cache_write_tokens":5,"cost_usd":0.25}`
	none := `{"input_tokens":null,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":null}`
	for _, row := range []struct{ name, id, want string }{
		{
			"every member, known", one,
			`{"id":"` + one + `","key":"caf\ufffd <1>","friendly_id":"quay","title":"Ropes & knots","tenant":"acme",` +
				`"client":"opencode","project":"harbour","parent_id":"` + two + `","root_id":"` + three + `","relation":"subagent",` +
				`"state":"completed","upstream":"demo","models":["echo"],"turns":3,"usage":` + usage + `,"tree_usage":` + usage +
				`,"created_at":"2026-11-29T09:00:00.123Z","updated_at":"2026-11-29T09:07:00.123Z","pinned":true,"archived":false}`,
		},
		{
			"what is not known is null", two,
			`{"id":"` + two + `","key":"api-1","friendly_id":"","title":"","tenant":"acme","client":null,"project":null,"parent_id":null,` +
				`"root_id":"` + two + `","relation":"main","state":null,"upstream":null,"models":[],"turns":0,"usage":` + none +
				`,"tree_usage":` + none + `,"created_at":"2026-11-29T09:00:00.123Z","updated_at":"2026-11-29T09:00:00.123Z",` +
				`"pinned":false,"archived":false}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := h.get(t, "alice", "/api/sessions/"+row.id)
			if diff := cmp.Diff(row.want, strings.TrimSpace(w.Body.String())); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type = %q", got)
			}
		})
	}
}

type listing struct {
	Sessions   []struct{ ID string }
	NextCursor *string `json:"next_cursor"`
	Total      int
}

func TestListPages(t *testing.T) {
	t.Parallel()
	m := new(memory)
	for i := range 5 {
		m.sessions = append(m.sessions, session(fmt.Sprintf("ses_01K000000000000000000000%02d", i), fmt.Sprint(i), i))
	}
	other := session("ses_01K0000000000000000000BOB0", "b", 9)
	other.Tenant = "globex"
	m.sessions = append(m.sessions, other)
	h := over(m)

	var got []string
	next := ""
	for {
		var page listing
		h.read(t, "alice", "/api/sessions?limit=2&cursor="+url.QueryEscape(next), &page)
		if page.Total != 5 {
			t.Errorf("total = %d, want 5", page.Total)
		}
		for _, s := range page.Sessions {
			got = append(got, s.ID[len(s.ID)-2:])
		}
		if page.NextCursor == nil {
			break
		}
		next = *page.NextCursor
	}
	if diff := cmp.Diff([]string{"04", "03", "02", "01", "00"}, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}

	forged := "A" + next[1:]
	if next[0] == 'A' {
		forged = "B" + next[1:]
	}
	for _, row := range []struct{ name, as, cursor string }{
		{"another tenant's", "bob", next},
		{"changed", "alice", forged},
		{"cut", "alice", next[:len(next)-4]},
		{"made up", "alice", "c29tZXRoaW5n"},
		{"no base64", "alice", "!"},
	} {
		refused(t, h.get(t, row.as, "/api/sessions?cursor="+url.QueryEscape(row.cursor)), 400, mooring.CodeInvalidRequest)
	}
}

func TestListIsNeverNull(t *testing.T) {
	t.Parallel()
	h := over(&memory{})
	for _, as := range []string{"alice", "root"} {
		want := `{"sessions":[],"next_cursor":null,"total":0}` + "\n"
		if got := h.get(t, as, "/api/sessions").Body.String(); got != want {
			t.Errorf("as %s: %q, want %q", as, got, want)
		}
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, query string
		want        mooring.SessionFilter
	}{
		{"fifty without a limit", "", mooring.SessionFilter{Limit: 50}},
		{"the largest limit", "limit=200", mooring.SessionFilter{Limit: 200}},
		{"pinned ones that are not archived", "pinned=true&archived=false", mooring.SessionFilter{Pinned: new(true), Archived: new(false), Limit: 50}},
		{"the sides alone", "kind=side", mooring.SessionFilter{Kind: mooring.KindSide, Limit: 50}},
		{
			"all filters", "q=rope+%26&client=cl&project=pr&upstream=up&state=failed&parent=ses_1&kind=main&limit=1",
			mooring.SessionFilter{
				Query: "rope &", Client: "cl", Project: "pr", Upstream: "up", State: mooring.Failed, Parent: "ses_1",
				Kind: mooring.KindMain, Limit: 1,
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := new(memory)
			over(m).read(t, "alice", "/api/sessions?"+row.query, new(listing))
			if diff := cmp.Diff(row.want, m.filter); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=-1", "limit=ten", "state=sleeping", "kind=other", "pinned=yes", "archived=1"} {
		t.Run("refused: "+query, func(t *testing.T) {
			t.Parallel()
			refused(t, over(&memory{}).get(t, "alice", "/api/sessions?"+query), 400, mooring.CodeInvalidRequest)
		})
	}
}

func TestWhoReads(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, as, query string
		reads           bool
		status          int
		code            mooring.Code
	}{
		{"nobody without a key", "", "", true, 401, mooring.CodeInvalidAPIKey},
		{"the owner", "alice", "", false, 200, ""},
		{"the owner may name the own tenant", "alice", "?tenant=acme", false, 200, ""},
		{"no other tenant", "bob", "", false, 404, mooring.CodeSessionNotFound},
		{"no other tenant by its name", "bob", "?tenant=acme", true, 403, mooring.CodeOperatorRequired},
		{"no operator without a tenant", "root", "", true, 404, mooring.CodeSessionNotFound},
		{"no operator where it is not allowed", "root", "?tenant=acme", false, 404, mooring.CodeNotFound},
		{"an operator where it is allowed", "root", "?tenant=acme", true, 200, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := open(workspace.Options{OperatorReads: func() bool { return row.reads }, Store: &memory{sessions: []mooring.Session{session(one, "k", 1)}}})
			for _, below := range []string{"", "/messages", "/turns"} {
				w := h.get(t, row.as, "/api/sessions/"+one+below+row.query)
				if row.status == http.StatusOK {
					if w.Code != row.status {
						t.Errorf("GET {id}%s = %d, want 200", below, w.Code)
					}
					continue
				}
				refused(t, w, row.status, row.code)
			}
		})
	}
}

func TestStoreErrors(t *testing.T) {
	t.Parallel()
	down := &mooring.Error{Code: mooring.CodeStoreUnavailable, Safe: "The store does not answer; try again.", Err: errDisk}
	for _, target := range []string{"/api/sessions", "/api/sessions/" + one, "/api/sessions/" + one + "/messages", "/api/sessions/key/turns"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			h := over(&memory{broken: down})
			w := h.get(t, "alice", target)
			refused(t, w, 503, mooring.CodeStoreUnavailable)
			if strings.Contains(w.Body.String(), errDisk.Error()) {
				t.Errorf("the client sees the cause: %s", w.Body)
			}
			if got := strings.Count(h.log.String(), errDisk.Error()); got != 1 {
				t.Errorf("the cause is logged %d times, want once: %s", got, h.log)
			}
		})
	}
}

package workspace_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/workspace"
)

// asked is a search that notes what it was asked.
type asked struct {
	tenant mooring.Tenant
	query  mooring.SearchQuery
	page   mooring.SearchPage
	err    error
}

func (a *asked) search(_ context.Context, t mooring.Tenant, q mooring.SearchQuery) (mooring.SearchPage, error) {
	a.tenant, a.query = t, q
	return a.page, a.err
}

func TestSearchJSON(t *testing.T) {
	t.Parallel()
	a := &asked{page: mooring.SearchPage{Degraded: true, Hits: []mooring.SearchHit{
		{Session: one, Key: "k", Title: "Ropes", Message: "msg_1", Role: "user", Snippet: "a <rope>", CreatedAt: at(1)},
		{Session: two, Key: "caf\xe9", CreatedAt: at(0)},
	}}}
	w := open(workspace.Options{Search: a.search}).get(t, "alice", "/api/search?q=rope+%3C")
	want := `{"query":"rope <","results":[{"session_id":"` + one + `","key":"k","title":"Ropes","message_id":"msg_1","role":"user",` +
		`"snippet":"a <rope>","created_at":"2026-11-29T09:01:00.123Z"},{"session_id":"` + two + `","key":"caf\ufffd","title":"",` +
		`"message_id":null,"role":null,"snippet":"","created_at":"2026-11-29T09:00:00.123Z"}],"degraded":true}`
	if diff := cmp.Diff(want, strings.TrimSpace(w.Body.String())); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestSearchLimits(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]mooring.SearchQuery{
		"":                {Limit: 20},
		"q=a&limit=1":     {Text: "a", Limit: 1},
		"q=a&limit=100":   {Text: "a", Limit: 100},
		"q=a&limit=5000":  {Text: "a", Limit: 100},
		"q=%00%ff%zz":     {Limit: 20},
		"q=%00%ff":        {Text: "\x00\xff", Limit: 20},
		"q=a%3Bb%26c%3Dd": {Text: "a;b&c=d", Limit: 20},
	} {
		a := new(asked)
		w := open(workspace.Options{Search: a.search}).get(t, "alice", "/api/search?"+query)
		if diff := cmp.Diff(want, a.query); diff != "" || w.Code != http.StatusOK {
			t.Errorf("?%s: %d, (-want +got):\n%s", query, w.Code, diff)
		}
	}
	for _, limit := range []string{"0", "-1", "ten", "1e2"} {
		a := new(asked)
		refused(t, open(workspace.Options{Search: a.search}).get(t, "alice", "/api/search?limit="+url.QueryEscape(limit)), 400, mooring.CodeInvalidRequest)
	}
}

func TestWhoSearches(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, as, query string
		reads           bool
		status          int
		code            mooring.Code
		tenant          mooring.Tenant
	}{
		{"nobody without a key", "", "", true, 401, mooring.CodeInvalidAPIKey, ""},
		{"the own tenant", "alice", "", false, 200, "", "acme"},
		{"no other one by its name", "bob", "&tenant=acme", true, 403, mooring.CodeOperatorRequired, ""},
		{"no operator where it is not allowed", "root", "&tenant=acme", false, 404, mooring.CodeNotFound, ""},
		{"an operator where it is allowed", "root", "&tenant=acme", true, 200, "", "acme"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := new(asked)
			w := open(workspace.Options{Search: a.search, OperatorReads: func() bool { return row.reads }}).get(t, row.as, "/api/search?q=rope"+row.query)
			if row.status != http.StatusOK {
				refused(t, w, row.status, row.code)
			} else if w.Code != row.status {
				t.Errorf("status %d, want %d", w.Code, row.status)
			}
			if a.tenant != row.tenant {
				t.Errorf("searched as %q, want %q", a.tenant, row.tenant)
			}
		})
	}
}

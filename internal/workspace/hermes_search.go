package workspace

import (
	"net/http"

	"mooring"
)

// mostHits is as many results as Hermes Workspace asks for.
const mostHits = 50

type findings struct {
	OK      bool          `json:"ok"`
	Query   string        `json:"query"`
	Count   int           `json:"count"`
	Results []findingView `json:"results"`
}

type findingView struct {
	ID         mooring.SessionID `json:"id"`
	Key        string            `json:"key"`
	FriendlyID string            `json:"friendlyId"`
	Title      string            `json:"title"`
	Snippet    string            `json:"snippet"`
	Role       *string           `json:"role"`
	Source     string            `json:"source"`
	Model      *string           `json:"model"`
	UpdatedAt  int64             `json:"updatedAt"` // milliseconds since 1970
	MessageID  *string           `json:"messageId"`
}

// searchSessions is search in the shape that Hermes Workspace reads.
func (a *API) searchSessions(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	limit, err := countOf(q.Get("limit"), defaultResults, mostHits)
	if err != nil {
		return nil, err
	}
	page, err := a.look(r.Context(), tenant, mooring.SearchQuery{Text: q.Get("q"), Limit: limit})
	if err != nil {
		return nil, err
	}
	sessions := map[mooring.SessionID]mooring.Session{}
	var ids []mooring.SessionID
	for _, h := range page.Hits {
		if _, ok := sessions[h.Session]; !ok {
			sessions[h.Session] = mooring.Session{}
			ids = append(ids, h.Session)
		}
	}
	all, err := a.store.SessionsOf(r.Context(), tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		sessions[s.ID] = s
	}
	v := findings{OK: true, Query: q.Get("q"), Results: []findingView{}}
	for _, h := range page.Hits {
		if s := sessions[h.Session]; s.ID != "" { // else deleted just now
			v.Results = append(v.Results, viewFinding(h, s))
		}
	}
	v.Count = len(v.Results)
	return v, nil
}

func viewFinding(h mooring.SearchHit, s mooring.Session) findingView {
	v := findingView{
		ID: s.ID, Key: s.Key, FriendlyID: s.FriendlyID, Title: s.Title, Snippet: h.Snippet, Role: known(h.Role), Source: "mooring",
		UpdatedAt: s.UpdatedAt.UnixMilli(), MessageID: known(string(h.Message)),
	}
	if s.Client != "" {
		v.Source = s.Client
	}
	if n := len(s.Models); n > 0 {
		v.Model = &s.Models[n-1]
	}
	return v
}

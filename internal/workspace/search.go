package workspace

import (
	"net/http"
	"strconv"

	"mooring"
)

// A search gives 20 results unless the client asks otherwise, and 100 at most: each one is read again for its snippet.
const (
	defaultResults = 20
	maxResults     = 100
)

type searchView struct {
	Query    string    `json:"query"`
	Results  []hitView `json:"results"`
	Degraded bool      `json:"degraded"`
}

type hitView struct {
	SessionID mooring.SessionID  `json:"session_id"`
	Key       string             `json:"key"`
	Title     string             `json:"title"`
	MessageID *mooring.MessageID `json:"message_id"`
	Role      *string            `json:"role"`
	Snippet   string             `json:"snippet"`
	CreatedAt instant            `json:"created_at"`
}

// search finds messages and sessions by their words. Any text is a query.
func (a *API) search(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	limit := defaultResults
	if said := q.Get("limit"); said != "" {
		n, err := strconv.Atoi(said)
		if err != nil || n < 1 {
			return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter limit must be a number above 0; %d results are given at most.", maxResults)
		}
		limit = min(n, maxResults)
	}
	page, err := a.look(r.Context(), tenant, mooring.SearchQuery{Text: q.Get("q"), Limit: limit})
	if err != nil {
		return nil, err
	}
	view := searchView{Query: q.Get("q"), Results: make([]hitView, len(page.Hits)), Degraded: page.Degraded}
	for i, h := range page.Hits {
		view.Results[i] = hitView{
			SessionID: h.Session, Key: h.Key, Title: h.Title, MessageID: known(h.Message), Role: known(h.Role), Snippet: h.Snippet,
			CreatedAt: instant(h.CreatedAt),
		}
	}
	return view, nil
}

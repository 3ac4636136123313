package workspace

import (
	"net/http"

	"mooring"
)

type turnList struct {
	Turns      []turnView      `json:"turns"`
	NextCursor *mooring.TurnID `json:"next_cursor"`
}

// listTurns gives a part of a session's turns, oldest first. The first page is the last turns, as many as a page may hold unless
// fewer are asked for; next_cursor is the `before` of the page above it.
func (a *API) listTurns(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	limit := maxLimit
	if q.Has("limit") {
		var err error
		if limit, err = limitOf(q); err != nil {
			return nil, err
		}
	}
	s, err := a.find(r, tenant)
	if err != nil {
		return nil, err
	}
	turns, more, err := a.store.Turns(r.Context(), tenant, s.ID, mooring.TurnPage{Before: mooring.TurnID(q.Get("before")), Limit: limit})
	if err != nil {
		return nil, err
	}
	list := turnList{Turns: make([]turnView, len(turns))}
	for i := range turns {
		list.Turns[i] = viewTurn(&turns[i])
	}
	if more {
		list.NextCursor = &turns[0].ID
	}
	return list, nil
}

func (a *API) showTurn(r *http.Request, tenant mooring.Tenant) (any, error) {
	t, err := a.store.Turn(r.Context(), tenant, mooring.TurnID(r.PathValue("id")))
	if err != nil {
		return nil, err
	}
	return viewTurn(&t), nil
}

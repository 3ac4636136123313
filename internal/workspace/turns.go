package workspace

import (
	"net/http"

	"mooring"
)

type turnList struct {
	Turns []turnView `json:"turns"`
}

// allTurns is the limit that stands for none.
const allTurns = 0

func (a *API) listTurns(r *http.Request, tenant mooring.Tenant) (any, error) {
	s, err := a.find(r, tenant)
	if err != nil {
		return nil, err
	}
	turns, err := a.store.Turns(r.Context(), tenant, s.ID, allTurns)
	if err != nil {
		return nil, err
	}
	list := turnList{Turns: make([]turnView, len(turns))}
	for i := range turns {
		list.Turns[i] = viewTurn(&turns[i])
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

package admin

import (
	"context"
	"net/http"
	"slices"

	"mooring"
	"mooring/internal/problem"
)

// Drainer says which upstreams take new sessions; its errors are shown to the client.
type Drainer interface {
	Drain(ctx context.Context, name mooring.UpstreamName) error
	Resume(ctx context.Context, name mooring.UpstreamName) error
}

// order is one of a Drainer's methods.
type order func(ctx context.Context, name mooring.UpstreamName) error

// drained carries an order out and answers with the upstream as it stands then. Said twice it is the same.
func (a *API) drained(do order) http.Handler {
	return a.operator(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := mooring.UpstreamName(r.PathValue("name"))
		if err := do(r.Context(), name); err != nil {
			problem.Write(w, mooring.API, err)
			return
		}
		all := a.o.Upstreams()
		at := slices.IndexFunc(all, func(u UpstreamView) bool { return u.Name == name })
		if at < 0 { // a reload took it out meanwhile
			w.WriteHeader(http.StatusNoContent)
			return
		}
		one := []operatorUpstream{forOperators(&all[at])}
		a.addLoad(r, one)
		a.answer(w, r, http.StatusOK, one[0])
	}))
}

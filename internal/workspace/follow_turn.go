package workspace

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"mooring"
	"mooring/internal/turn"
)

// followTurn answers with the events of a turn, whoever began it: those behind the last one that the listener has. One that is over
// is told as it was written down.
func (a *API) followTurn(w http.ResponseWriter, r *http.Request) {
	tenant, err := a.tenant(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	id := mooring.TurnID(r.PathValue("id"))
	live, here := a.talk.Runner.Follow(tenant, id)
	if here {
		who, lost := a.routeTo(r.Context(), tenant, live.About().Session)
		if lost != nil {
			a.fail(w, r, lost)
			return
		}
		s := a.newEvents(w, r, who)
		s.skip = lastEvent(r)
		s.follow(live) //nolint:contextcheck // the events have their request
		return
	}
	t, err := a.store.Turn(r.Context(), tenant, id)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	who, err := a.routeTo(r.Context(), tenant, t.Session)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	s := a.newEvents(w, r, who)
	if t.State == mooring.Running { // at another replica, or it began just now
		s.skip = lastEvent(r)
		s.follow(a.talk.Runner.Watch(r.Context(), t)) //nolint:contextcheck // the events have their request
		return
	}
	s.recorded(t) //nolint:contextcheck // the events have their request
}

// lastEvent is the number of the last event that a listener has; 0 for none.
func lastEvent(r *http.Request) int {
	n, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// routeTo is the workspace's route to a session.
func (a *API) routeTo(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (route, error) {
	s, err := a.store.Session(ctx, t, id)
	return route{SessionKey: s.Key}, err
}

// recorded tells a turn that has ended as it was written down. Its text comes whole, so that it does not matter what the listener had
// of it; the numbers go on behind those that it had.
func (s *events) recorded(t mooring.Turn) {
	s.number = lastEvent(s.r)
	s.skip = s.number
	s.started(turn.About{Session: t.Session, Turn: t.ID})
	s.whole(&t)
	s.over(&t, nil)
}

// cancelTurn ends a turn, whichever replica runs it. One that is over stays as it is.
func (a *API) cancelTurn(_ http.ResponseWriter, r *http.Request, tenant mooring.Tenant) (reply, error) {
	id := mooring.TurnID(r.PathValue("id"))
	if err := a.talk.Runner.Stop(r.Context(), tenant, id); err != nil {
		return reply{}, err
	}
	t, err := a.store.Turn(r.Context(), tenant, id)
	if err != nil {
		return reply{}, err
	}
	if t.State == mooring.Running {
		return reply{}, &mooring.Error{
			Code: mooring.CodeSessionBusy, Safe: "The turn has not ended yet; ask again.", RetryAfter: time.Second,
		}
	}
	return reply{status: http.StatusOK, body: viewTurn(&t)}, nil
}

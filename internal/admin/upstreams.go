package admin

import (
	"log/slog"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// UpstreamView is an upstream as the list shows it. What stands in its second half is the operators'.
type UpstreamView struct {
	Name   mooring.UpstreamName
	Health string // "healthy", "unhealthy", "draining" or "unknown"
	Models []string

	Protocol string
	URL      string // without credentials; empty for a built-in model
	InFlight int
	Requests int64  // since the start
	Failures int64  // of those
	Reason   string // why it is not well; empty where it is
}

// Load is what upstreams bear, as the store tells it.
type Load struct {
	Pinned   int // sessions that are bound to it
	Turns    int // of the last hour, that ended there
	Errors   int // of Turns: failed or interrupted
	FirstP50 *time.Duration
	WholeP50 *time.Duration
	WholeP95 *time.Duration
}

type upstreamList[T any] struct {
	Upstreams []T `json:"upstreams"`
}

type publicUpstream struct {
	Name   mooring.UpstreamName `json:"name"`
	Health string               `json:"health"`
	Models []string             `json:"models"`
}

type operatorUpstream struct {
	publicUpstream
	Protocol string  `json:"protocol"`
	URL      string  `json:"url"`
	InFlight int     `json:"in_flight"`
	Requests int64   `json:"requests"`
	Failures int64   `json:"failures"`
	Reason   *string `json:"reason"`
	loadView
}

// loadView is null throughout where the store cannot be asked.
type loadView struct {
	Pinned   *int   `json:"pinned"`
	Turns    *int   `json:"turns_last_hour"`
	Errors   *int   `json:"errors_last_hour"`
	FirstP50 *int64 `json:"first_byte_p50_ms"`
	WholeP50 *int64 `json:"duration_p50_ms"`
	WholeP95 *int64 `json:"duration_p95_ms"`
}

func viewLoad(l Load) loadView {
	return loadView{Pinned: &l.Pinned, Turns: &l.Turns, Errors: &l.Errors, FirstP50: millis(l.FirstP50), WholeP50: millis(l.WholeP50), WholeP95: millis(l.WholeP95)}
}

func millis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	return new(d.Milliseconds())
}

func (a *API) upstreams(w http.ResponseWriter, r *http.Request) {
	caller, err := a.o.Caller(r)
	if err != nil {
		problem.Write(w, mooring.API, err)
		return
	}
	all := a.o.Upstreams()
	if caller.Operator() {
		list := listOf(all, forOperators)
		a.addLoad(r, list.Upstreams)
		a.answer(w, r, http.StatusOK, list)
		return
	}
	a.answer(w, r, http.StatusOK, listOf(all, forUsers))
}

// addLoad adds what the store tells. Where it cannot, the rest is shown all the same: that is when operators look.
func (a *API) addLoad(r *http.Request, list []operatorUpstream) {
	load, err := a.o.Load(r.Context())
	if err != nil {
		a.o.Log.LogAttrs(r.Context(), slog.LevelWarn, "load of the upstreams not read", slog.Any("err", err))
		return
	}
	for i := range list {
		list[i].loadView = viewLoad(load[list[i].Name])
	}
}

func listOf[T any](all []UpstreamView, view func(*UpstreamView) T) upstreamList[T] {
	l := upstreamList[T]{Upstreams: make([]T, len(all))}
	for i := range all {
		l.Upstreams[i] = view(&all[i])
	}
	return l
}

func forUsers(u *UpstreamView) publicUpstream {
	models := u.Models
	if models == nil {
		models = []string{}
	}
	return publicUpstream{Name: u.Name, Health: u.Health, Models: models}
}

func forOperators(u *UpstreamView) operatorUpstream {
	return operatorUpstream{
		publicUpstream: forUsers(u),
		Protocol:       u.Protocol,
		URL:            u.URL,
		InFlight:       u.InFlight,
		Requests:       u.Requests,
		Failures:       u.Failures,
		Reason:         known(u.Reason),
	}
}

func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

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

	Protocol     string
	URL          string // without credentials; empty for a built-in model
	Circuit      string // "closed", "open" or "half_open"
	DrainedSince time.Time
	InFlight     int
	MaxInFlight  int   // 0 for no limit
	Waiting      int   // for a place
	Requests     int64 // since the start
	Failures     int64 // of those: without an answer, or answered with an error of the server
	Spills       int64 // turns that another one answered because this one was full
	Reason       string
	RestUntil    time.Time // the upstream asked for it; zero where it does not rest
	Accounts     []AccountView
}

// AccountView is one of several accounts at an upstream: by its name, never its credential.
type AccountView struct {
	Name      mooring.AccountName
	Requests  int64 // since the start
	Refused   int64 // of those: 401, 402, 403 or 429
	RestUntil time.Time
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
	Protocol     string        `json:"protocol"`
	URL          string        `json:"url"`
	Circuit      string        `json:"circuit"`
	Drained      bool          `json:"drained"`
	DrainedSince *time.Time    `json:"drained_since"`
	InFlight     int           `json:"in_flight"`
	MaxInFlight  int           `json:"max_in_flight"`
	Waiting      int           `json:"waiting"`
	Requests     int64         `json:"requests"`
	Failures     int64         `json:"failures"`
	Spills       int64         `json:"spills"`
	Reason       *string       `json:"reason"`
	RestUntil    *time.Time    `json:"rest_until"`
	Accounts     []accountView `json:"accounts"`
	loadView
}

type accountView struct {
	Name      mooring.AccountName `json:"name"`
	Requests  int64               `json:"requests"`
	Refused   int64               `json:"refused"`
	RestUntil *time.Time          `json:"rest_until"`
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
	accounts := make([]accountView, len(u.Accounts))
	for i, a := range u.Accounts {
		accounts[i] = accountView{Name: a.Name, Requests: a.Requests, Refused: a.Refused, RestUntil: moment(a.RestUntil)}
	}
	return operatorUpstream{
		publicUpstream: forUsers(u),
		Protocol:       u.Protocol,
		URL:            u.URL,
		Circuit:        u.Circuit,
		Drained:        !u.DrainedSince.IsZero(),
		DrainedSince:   moment(u.DrainedSince),
		InFlight:       u.InFlight,
		MaxInFlight:    u.MaxInFlight,
		Waiting:        u.Waiting,
		Requests:       u.Requests,
		Failures:       u.Failures,
		Spills:         u.Spills,
		Reason:         known(u.Reason),
		RestUntil:      moment(u.RestUntil),
		Accounts:       accounts,
	}
}

func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func moment(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return new(at.UTC())
}

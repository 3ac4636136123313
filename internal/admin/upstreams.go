package admin

import (
	"net/http"

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
	Requests int64 // since the start
	Failures int64 // of those
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
	Protocol string `json:"protocol"`
	URL      string `json:"url"`
	InFlight int    `json:"in_flight"`
	Requests int64  `json:"requests"`
	Failures int64  `json:"failures"`
}

func (a *API) upstreams(w http.ResponseWriter, r *http.Request) {
	caller, err := a.o.Caller(r)
	if err != nil {
		problem.Write(w, mooring.API, err)
		return
	}
	all := a.o.Upstreams()
	if caller.Operator() {
		a.answer(w, r, http.StatusOK, listOf(all, forOperators))
		return
	}
	a.answer(w, r, http.StatusOK, listOf(all, forUsers))
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
	}
}

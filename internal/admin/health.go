package admin

import (
	"log/slog"
	"net/http"
)

type statusView struct {
	Status string `json:"status"`
}

// health says that the process answers, and nothing about what it does.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, http.StatusOK, statusView{"ok"})
}

// ready says whether a balancer should send requests here. Why not is for the log: the route needs no key.
func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.o.Ready(r.Context()); err != nil {
		if r.Context().Err() == nil {
			a.o.Log.LogAttrs(r.Context(), slog.LevelWarn, "not ready", slog.Any("err", err))
		}
		a.answer(w, r, http.StatusServiceUnavailable, statusView{"not ready"})
		return
	}
	a.answer(w, r, http.StatusOK, statusView{"ready"})
}

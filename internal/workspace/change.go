package workspace

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"mooring"
)

// reply is an answer with a JSON body; none where it is nil.
type reply struct {
	status   int
	location string // of what was made; empty for nothing
	body     any
}

// change makes a handler of what writes.
func (a *API) change(do func(http.ResponseWriter, *http.Request, mooring.Tenant) (reply, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant, err := a.owner(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		v, err := do(w, r, tenant)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		a.send(w, r, v)
	})
}

// owner says whose sessions a request may change: the caller's own, whatever an operator may read.
func (a *API) owner(r *http.Request) (mooring.Tenant, error) {
	caller, err := a.caller(r)
	if err != nil {
		return "", err
	}
	asked := mooring.Tenant(r.URL.Query().Get("tenant"))
	switch {
	case asked != "" && asked != caller.Tenant && caller.Operator():
		return "", mooring.Errorf(mooring.CodeNotFound, "An operator's key changes nothing of a tenant's; use a key of that tenant.")
	case asked != "" && asked != caller.Tenant:
		return "", mooring.Errorf(mooring.CodeOperatorRequired, "Only an operator may name a tenant; leave ?tenant= out to change your own sessions.")
	}
	return caller.Tenant, nil
}

func (a *API) send(w http.ResponseWriter, r *http.Request, v reply) {
	w.Header().Set("Cache-Control", "no-store")
	if v.location != "" {
		w.Header().Set("Location", v.location)
	}
	if v.body == nil {
		w.WriteHeader(v.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(v.status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // it is JSON for programs: "<" stays readable
	if err := enc.Encode(v.body); err != nil && r.Context().Err() == nil {
		a.log.LogAttrs(r.Context(), slog.LevelDebug, "answer not written", slog.Any("err", err))
	}
}

// shown answers with a session as the store has it now.
func (a *API) shown(r *http.Request, tenant mooring.Tenant, id mooring.SessionID) (sessionView, error) {
	s, err := a.store.Session(r.Context(), tenant, id)
	if err != nil {
		return sessionView{}, err
	}
	return a.view(r.Context(), s)
}

// made is the answer to what made a session.
func (a *API) made(r *http.Request, tenant mooring.Tenant, id mooring.SessionID) (reply, error) {
	v, err := a.shown(r, tenant, id)
	return reply{status: http.StatusCreated, location: "/api/sessions/" + string(id), body: v}, err
}

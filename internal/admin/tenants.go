package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// Tenants are the slots of the tenant edge and whose they are. Its errors are shown to the client.
type Tenants interface {
	Places(ctx context.Context) ([]Place, error)
	Find(ctx context.Context, who string) (Place, error)
	KeyOf(subject string) (mooring.TenantKey, error)
	Move(ctx context.Context, who string, to mooring.SlotName, copied bool) (Place, error)
	Release(ctx context.Context, who string, wiped bool) (Place, error)
}

// Place is a slot as operators see it: never who its tenant is.
type Place struct {
	Slot       mooring.SlotName  `json:"slot"`
	State      mooring.SlotState `json:"state"`
	Tenant     string            `json:"tenant"` // the tenant key, "" where it has none
	KeyID      string            `json:"key_id"`
	Epoch      int64             `json:"epoch"`
	ClaimedAt  *time.Time        `json:"claimed_at"`
	SeenAt     *time.Time        `json:"seen_at"`
	Note       string            `json:"note"`
	Configured bool              `json:"configured"`
	URL        string            `json:"url"`
	Open       int               `json:"in_flight"`
	Health     string            `json:"health"`
}

// tenants hands the edge to a route, where there is one.
func (a *API) tenants(do func(r *http.Request, t Tenants) (any, error)) http.Handler {
	return a.operator(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := a.o.Tenants()
		if t == nil {
			problem.Write(w, mooring.API, mooring.Errorf(mooring.CodeNotFound, "No tenant edge is configured."))
			return
		}
		answer, err := do(r, t)
		if err != nil {
			problem.Write(w, mooring.API, err)
			return
		}
		a.answer(w, r, http.StatusOK, answer)
	}))
}

func (a *API) mountTenants(mux Mux) {
	mux.Handle("GET /api/tenants", a.tenants(listTenants))
	mux.Handle("GET /api/tenants/{who}", a.tenants(func(r *http.Request, t Tenants) (any, error) { return t.Find(r.Context(), r.PathValue("who")) }))
	mux.Handle("POST /api/tenants/{who}/move", a.tenants(moveTenant))
	mux.Handle("POST /api/tenants/{who}/release", a.tenants(releaseTenant))
}

// listTenants lists all slots, or the one of a subject.
func listTenants(r *http.Request, t Tenants) (any, error) {
	type list struct {
		Tenants []Place `json:"tenants"`
	}
	if !r.URL.Query().Has("subject") {
		all, err := t.Places(r.Context())
		return list{all}, err
	}
	key, err := t.KeyOf(r.URL.Query().Get("subject"))
	if err != nil {
		return nil, err
	}
	one, err := t.Find(r.Context(), string(key))
	if mooring.CodeOf(err) == mooring.CodeNotFound {
		err = mooring.Errorf(mooring.CodeNotFound, "Nobody with that subject has a slot; a subject is the id (`sub`) that the identity provider has for a person.")
	}
	return list{[]Place{one}}, err
}

func moveTenant(r *http.Request, t Tenants) (any, error) {
	var order struct {
		To     mooring.SlotName `json:"to"`
		Copied bool             `json:"copied"`
	}
	if err := orderIn(r, &order); err != nil {
		return nil, err
	}
	if order.To == "" {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "Name the slot to move to as `to`.")
	}
	return t.Move(r.Context(), r.PathValue("who"), order.To, order.Copied)
}

func releaseTenant(r *http.Request, t Tenants) (any, error) {
	var order struct {
		Wiped bool `json:"wiped"`
	}
	if err := orderIn(r, &order); err != nil {
		return nil, err
	}
	return t.Release(r.Context(), r.PathValue("who"), order.Wiped)
}

// maxOrder is what an operator's order may hold.
const maxOrder = 4 << 10

// orderIn reads a small JSON object; an empty body is an empty one.
func orderIn(r *http.Request, order any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, maxOrder))
	d.DisallowUnknownFields()
	if err := d.Decode(order); err != nil && err != io.EOF {
		return mooring.Errorf(mooring.CodeInvalidJSON, "The body has to be a JSON object with the members that docs/edge.md names.")
	}
	return nil
}

package workspace

import (
	"context"
	"net/http"
	"strings"

	"mooring"
)

type sessionList struct {
	Sessions   []sessionView `json:"sessions"`
	NextCursor *string       `json:"next_cursor"`
	Total      int           `json:"total"`
}

func (a *API) listSessions(r *http.Request, tenant mooring.Tenant) (any, error) {
	filter, err := sessionFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if c := r.URL.Query().Get("cursor"); c != "" {
		if filter.After, err = a.cursors.open(tenant, c); err != nil {
			return nil, err
		}
	}
	page, err := a.store.Sessions(r.Context(), tenant, filter)
	if err != nil {
		return nil, err
	}
	list := sessionList{Total: page.Total}
	if list.Sessions, err = a.views(r.Context(), tenant, page.Sessions); err != nil {
		return nil, err
	}
	if n := len(page.Sessions); page.More && n > 0 {
		last := page.Sessions[n-1]
		next := a.cursors.seal(tenant, mooring.SessionCursor{UpdatedAt: last.UpdatedAt, ID: last.ID})
		list.NextCursor = &next
	}
	return list, nil
}

func (a *API) showSession(r *http.Request, tenant mooring.Tenant) (any, error) {
	s, err := a.find(r, tenant)
	if err != nil {
		return nil, err
	}
	return a.view(r.Context(), s)
}

func (a *API) view(ctx context.Context, s mooring.Session) (sessionView, error) {
	all, err := a.views(ctx, s.Tenant, []mooring.Session{s})
	if err != nil {
		return sessionView{}, err
	}
	return all[0], nil
}

// views shows sessions, each with the use of its tree: one query for all of them.
func (a *API) views(ctx context.Context, tenant mooring.Tenant, all []mooring.Session) ([]sessionView, error) {
	ids := make([]mooring.SessionID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	trees, err := a.store.TreeUse(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	out := make([]sessionView, len(all))
	for i, s := range all {
		tree, ok := trees[s.ID]
		if !ok { // deleted since it was read
			tree = mooring.Spending{Usage: s.Usage, CostUSD: s.CostUSD}
		}
		out[i] = viewSession(s, tree)
	}
	return out, nil
}

// find gives the session that {id} names: by internal id first, then by key, then by the short name of the pages' addresses.
func (a *API) find(r *http.Request, tenant mooring.Tenant) (mooring.Session, error) {
	name := r.PathValue("id")
	if internalID(name) {
		s, err := a.store.Session(r.Context(), tenant, mooring.SessionID(name))
		if err == nil || mooring.CodeOf(err) != mooring.CodeSessionNotFound {
			return s, err
		}
	}
	found, err := a.store.SessionsByKey(r.Context(), tenant, name)
	if err == nil && len(found) == 0 {
		found, err = a.store.SessionsByFriendlyID(r.Context(), tenant, name)
	}
	switch {
	case err != nil:
		return mooring.Session{}, err
	case len(found) == 0:
		return mooring.Session{}, mooring.Errorf(mooring.CodeSessionNotFound, "There is no such session; GET /api/sessions lists those there are.")
	case len(found) > 1:
		return mooring.Session{}, mooring.Errorf(mooring.CodeAmbiguousKey, "%d sessions have this key; use the id of one of them, from GET /api/sessions.", len(found))
	}
	return found[0], nil
}

// internalID says whether a name has the shape of a session's own id, "ses_" and a ULID. Some clients' keys have it too.
func internalID(name string) bool {
	const ulidLength = 26
	rest, ok := strings.CutPrefix(name, "ses_")
	return ok && len(rest) == ulidLength
}

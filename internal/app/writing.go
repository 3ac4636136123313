package app

import (
	"bytes"
	"context"
	"net/http"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/workspace"
)

// apiBody is what a request to the session API may hold: its largest member is a title or a key.
const apiBody = 64 << 10

// writing is what the session API changes things with.
func (a *App) writing() workspace.Writing {
	return workspace.Writing{
		Commit: a.commit,
		Body:   a.readSmall, Name: identify.NameKey, Forget: a.forget,
		NewSession: a.ids.session, NewMessage: a.ids.message, NewKey: newKey,
	}
}

// commit goes on without the request that asked for it: it ends soon, and what follows it has to follow.
func (a *App) commit(ctx context.Context, c mooring.Change) error {
	return a.record.Commit(context.WithoutCancel(ctx), c)
}

func (a *App) readSmall(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := a.server.ReadBody(w, r, apiBody)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	return bytes.Clone(body.Bytes()), nil
}

// forget drops what memory has of a session that was changed by hand, or removed for its age.
func (a *App) forget(t mooring.Tenant, id mooring.SessionID) {
	a.ident.Gone(t, id)
	a.route.Forget(t, id)
}

package app

import (
	"bytes"
	"net/http"

	"mooring/internal/config"
	"mooring/internal/signin"
	"mooring/internal/workspace"
)

func (a *App) signIns() *signin.Book {
	return signin.New(signin.Options{Store: a.store, Commit: a.commit, Secret: subkey(a.secret, "sign-ins"), Now: a.opts.Now, Log: a.opts.Log})
}

func (a *App) signInRoutes(cfg *config.Config) *workspace.SignIns {
	return workspace.NewSignIns(workspace.SignInOptions{
		Caller: a.server.Caller, SignIn: a.server.SignIn, SignOut: a.server.SignOut, Body: a.readKey, About: a.about, Version: a.opts.Version,
		Store: storeKind(cfg), Log: a.opts.Log,
	})
}

// keyBody is what a request with a key in it may hold.
const keyBody = 8 << 10

func (a *App) readKey(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := a.server.ReadOpen(w, r, keyBody)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	return bytes.Clone(body.Bytes()), nil
}

func (a *App) about() workspace.About {
	cfg := a.cfg.Load()
	return workspace.About{
		Keys: !cfg.Open(), OperatorReads: cfg.Sessions.OperatorReads, Commands: cfg.Sessions.Commands, Transcripts: cfg.Sessions.Transcripts,
	}
}

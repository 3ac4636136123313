package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"slices"
	"time"

	"mooring"
	"mooring/internal/admin"
	"mooring/internal/config"
	"mooring/internal/serve"
	"mooring/internal/web"
	"mooring/internal/workspace"
)

// handler mounts all routes behind the rules that hold for every request.
func (a *App) handler(cfg *config.Config) http.Handler {
	front := web.Embedded()
	mux := &serve.Mux{Known: a.known, Lost: front.Missing}
	a.load = &load{store: a.reader, now: a.opts.Now, idle: func() time.Duration { return a.cfg.Load().Routing.PinIdle }}
	a.relay.Mount(mux)
	workspace.New(workspace.Options{
		Store: pages{a.reader}, Write: a.writing(), Talk: a.talking(a.turns), Caller: a.server.Caller, CursorKey: subkey(a.secret, "cursors"),
		OperatorReads: func() bool { return a.cfg.Load().Sessions.OperatorReads }, Search: a.index.Search, Now: a.opts.Now, Log: a.opts.Log,
		Prices: a.priceList, Limits: a.limitsOf,
	}).Mount(mux)
	a.signInRoutes(cfg).Mount(mux)
	workspace.NewPages(front).Mount(mux)
	admin.New(admin.Options{Caller: a.server.Caller, Ready: a.ready, Upstreams: a.upstreamViews, Load: a.load.read, Drains: a.drains, Tenants: a.tenants, Metrics: a.metrics.Handler(), Hub: a.hub, Draining: a.server.Draining(), Log: a.opts.Log}).Mount(mux)
	return a.server.Wrap(mux)
}

// known says why a caller is none.
func (a *App) known(r *http.Request) error {
	_, err := a.server.Caller(r)
	return err
}

func (a *App) priceList() workspace.PriceList {
	return workspace.PriceList{Date: a.listed.Date, Source: a.listed.Name, Models: a.listed.Models}
}

// limitsOf is what the configuration allows a key.
func (a *App) limitsOf(key mooring.KeyName) *workspace.KeyLimits {
	cfg := a.cfg.Load()
	i := slices.IndexFunc(cfg.Keys, func(k config.Key) bool { return k.Name == key })
	if i < 0 {
		return nil
	}
	k := &cfg.Keys[i]
	return &workspace.KeyLimits{RequestsPerMinute: k.RequestsPerMinute, Streams: k.Streams, BudgetUSD: k.BudgetUSD, Models: k.Models, Expires: k.Expires}
}

// subkey derives a key for one purpose, so that none is used for two.
func subkey(secret []byte, purpose string) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte("mooring " + purpose))
	return h.Sum(nil)
}

func storeKind(cfg *config.Config) string {
	if cfg.Store.Postgres() {
		return "PostgreSQL"
	}
	return "SQLite"
}

// readyTimeout is short: who asks wants to know now.
const readyTimeout = 2 * time.Second

// ready says why the program should get no requests now, if it should not.
func (a *App) ready(ctx context.Context) error {
	select {
	case <-a.server.Draining():
		return mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down.")
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return a.store.Ping(ctx)
}

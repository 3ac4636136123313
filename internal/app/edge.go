package app

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"mooring"
	"mooring/internal/admin"
	"mooring/internal/config"
	"mooring/internal/edge"
	"mooring/internal/openid"
)

// openEdge takes the edge's port, where one is configured, and reads who has which slot. Nothing is accepted yet.
func (a *App) openEdge(ctx context.Context, cfg *config.Config) error {
	c := cfg.Edge
	if c == nil {
		return nil
	}
	e, err := edge.New(a.edgeOptions(cfg)) //nolint:contextcheck // requests have contexts of their own
	if err != nil {
		return &config.Error{Key: "edge.slots", Msg: err.Error()}
	}
	a.onStop(func() { a.closed("edge", e.Close()) }) //nolint:contextcheck // closing is not cut short
	addr, err := e.Listen(ctx, c.Listen)
	if err != nil {
		return &config.Error{Key: "edge", Msg: err.Error()}
	}
	a.opts.Log.LogAttrs(ctx, slog.LevelInfo, "the edge listens", slog.String("address", addr.String()))
	a.warnOfEdge(ctx, cfg, e)
	a.edge = e
	return nil
}

// warnOfEdge says what would be somebody's trouble later.
func (a *App) warnOfEdge(ctx context.Context, cfg *config.Config, e *edge.Edge) {
	if cfg.Open() {
		a.opts.Log.LogAttrs(ctx, slog.LevelWarn, "no client keys are configured: whoever reaches the main listener is an operator and can take the edge's slots from people",
			slog.String("config_key", "keys"), slog.String("address", a.addr))
	}
	if n := e.OtherSalt(); n > 0 {
		a.opts.Log.LogAttrs(ctx, slog.LevelWarn, "slots were claimed under another salt: their tenants cannot come back to them, and nobody else gets them",
			slog.String("config_key", "edge.salt"), slog.Int("slots", n))
	}
}

func (a *App) edgeOptions(cfg *config.Config) edge.Options {
	c := cfg.Edge
	o := edge.Options{
		Settings: edge.Settings{
			Host: c.Host, Origin: "https://" + c.Host, IdentityHeader: c.IdentityHeader, Cookies: [2]string(c.Cookies), Continuity: c.Continuity,
			DenyOpen: c.DenyOpen, SnapshotLimit: int(c.SnapshotLimit), BodyLimit: edgeBody, Salt: []byte(c.Salt.Reveal()),
			Trusted: c.Identity.Networks(), Issuer: c.Identity.Issuer,
		},
		Slots: slotsOf(c), Store: a.store, Commit: a.commit, Now: a.opts.Now, Log: a.opts.Log, Meter: a.metrics, Witness: witnessBeside(cfg.Store.File()),
	}
	switch c.Identity.Source {
	case config.SourceBearer:
		o.Verify = openid.New(openid.Options{Issuer: c.Identity.Issuer, ClientID: c.Identity.Audience, Now: time.Now})
	case config.SourceOIDC:
		back := c.OIDC.RedirectURI
		if back == "" {
			back = o.Origin + "/oauth2/callback"
		}
		if o.Plain = strings.HasPrefix(back, "http://"); o.Plain {
			o.Origin = "http://" + c.Host
		}
		p := openid.New(openid.Options{
			Issuer: c.Identity.Issuer, ClientID: c.Identity.ClientID, Secret: c.Identity.ClientSecret.Reveal(), RedirectURI: back, Scopes: c.OIDC.Scopes, Now: time.Now,
		})
		o.Login = &edge.LoginOptions{
			Provider: p, Issuer: c.Identity.Issuer, ClientID: c.Identity.ClientID, Secret: subkey(a.secret, "edge logins"), Idle: c.OIDC.Idle, MaxAge: c.OIDC.MaxAge,
		}
	}
	return o
}

// edgeBody is a little more than the largest body that the web UI takes (hermes-webui MAX_BODY_BYTES: 20 MiB).
const edgeBody = 21 << 20

// witnessBeside is the file that tells a store that has lost its claims from one that never had any; replicas of a shared database watch it
// themselves.
func witnessBeside(store string) string {
	if store == "" {
		return ""
	}
	return strings.TrimSuffix(store, ".db") + ".slots"
}

func slotsOf(c *config.Edge) []edge.Slot {
	out := make([]edge.Slot, len(c.Slots))
	for i, s := range c.Slots {
		out[i] = edge.Slot{Name: mooring.SlotName(s.Name), URL: s.URL}
	}
	return out
}

// replaceSlots takes over a changed list of slots; all else of the edge takes a restart.
func (a *App) replaceSlots(cfg config.Config) error {
	if a.edge == nil || cfg.Edge == nil {
		return nil
	}
	if err := a.edge.Replace(slotsOf(cfg.Edge)); err != nil {
		return &config.Error{Key: "edge.slots", Msg: err.Error()}
	}
	return nil
}

// sameEdge says whether two configurations of the edge differ in their slots at most.
func sameEdge(old, next *config.Edge) bool {
	if old == nil || next == nil {
		return old == next
	}
	a, b := *old, *next
	a.Slots, b.Slots = nil, nil
	return reflect.DeepEqual(a, b)
}

func (a *App) drainEdge(ctx context.Context) {
	if a.edge == nil {
		return
	}
	if err := a.edge.Shutdown(ctx); err != nil && ctx.Err() == nil {
		a.closed("edge", err) //nolint:contextcheck // as above
	}
}

// tenants are the edge's slots, for operators.
func (a *App) tenants() admin.Tenants { //nolint:ireturn // nil where there is no edge
	if a.edge == nil {
		return nil
	}
	return places{a.edge}
}

// places shows operators the edge's slots.
type places struct{ edge *edge.Edge }

func (p places) Places(ctx context.Context) ([]admin.Place, error) {
	all, err := p.edge.Places(ctx)
	out := make([]admin.Place, len(all))
	for i := range all {
		out[i] = shown(&all[i])
	}
	return out, err
}

func (p places) Find(ctx context.Context, who string) (admin.Place, error) {
	one, err := p.edge.Find(ctx, who)
	return shown(&one), err
}

func (p places) KeyOf(subject string) (mooring.TenantKey, error) { return p.edge.KeyOf(subject) }

func (p places) Move(ctx context.Context, who string, to mooring.SlotName, copied bool) (admin.Place, error) {
	one, err := p.edge.Move(ctx, who, to, copied)
	return shown(&one), err
}

func (p places) Release(ctx context.Context, who string, wiped bool) (admin.Place, error) {
	one, err := p.edge.Release(ctx, who, wiped)
	return shown(&one), err
}

func shown(p *edge.Place) admin.Place {
	return admin.Place{
		Slot: p.Slot, State: p.State, Tenant: string(p.Key), KeyID: p.KeyID, Epoch: p.Epoch, ClaimedAt: known(p.ClaimedAt), SeenAt: known(p.SeenAt), Note: p.Remark(),
		Configured: p.Configured, URL: p.URL, Open: p.Open, Health: p.Health,
	}
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

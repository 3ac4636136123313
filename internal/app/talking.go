package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"mooring"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
	"mooring/internal/workspace"
)

// talking is what turns that begin on a page need.
func (a *App) talking(runner *turn.Runner) workspace.Talking {
	return workspace.Talking{
		Runner: runner,
		Body: func(w http.ResponseWriter, r *http.Request) ([]byte, func(), error) {
			body, err := a.server.ReadBody(w, r, 0)
			if err != nil {
				return nil, nil, err
			}
			return body.Bytes(), body.Release, nil
		},
		Admit: func(ctx context.Context, c mooring.Caller, model string) (func(), error) {
			return a.server.Admit(ctx, c, serve.Ask{Model: model, Turn: true})
		},
		Decode: func(t mooring.Tenant, p mooring.Protocol, body []byte) (*wire.Request, error) {
			return a.ident.Digester(t).Decode(p, body, wire.Limits{JSONDepth: a.cfg.Load().Limits.JSONDepth})
		},
		Serves: a.serves, Model: a.relay.First,
		Detach:   func() time.Duration { return a.cfg.Load().Workspace.Detach },
		Commands: func() bool { return a.cfg.Load().Command("new") },
		MaxBytes: func() int { return int(a.cfg.Load().Limits.Body) },
	}
}

// serves says how a page's turn asks for a model: in the protocol whose upstreams name it best, which is chat where both do. Of an alias
// the first model counts that anybody serves. Whether the conversation is theirs to keep says the upstream that the session is with, else
// any of them.
func (a *App) serves(model string, on mooring.UpstreamName) (workspace.Serving, bool) {
	models, alias := a.cfg.Load().Models[model]
	if !alias {
		models = []string{model}
	}
	for _, one := range models {
		if s, ok := a.servesOne(one, on); ok {
			return s, true
		}
	}
	return workspace.Serving{Protocol: mooring.Chat}, false
}

func (a *App) servesOne(model string, on mooring.UpstreamName) (workspace.Serving, bool) {
	chat, messages := a.fleet.Candidates(mooring.Chat, model), a.fleet.Candidates(mooring.Messages, model)
	s, of := workspace.Serving{Protocol: mooring.Chat}, chat
	if rank(messages, model) > rank(chat, model) {
		s.Protocol, of = mooring.Messages, messages
	}
	if at := slices.IndexFunc(of, func(u *upstream.Upstream) bool { return u.Name == on }); at >= 0 {
		s.Remote = of[at].Remote
	} else {
		s.Remote = slices.ContainsFunc(of, func(u *upstream.Upstream) bool { return u.Remote })
	}
	return s, len(of) > 0
}

// rank is how well a model is named by its candidates, which name it equally well; -1 where there are none.
func rank(of []*upstream.Upstream, model string) int {
	if len(of) == 0 {
		return -1
	}
	n, _ := of[0].Match(model)
	return n
}

// pages reads as the reader does, names too: what a request has just made must be there for the next one of its page.
type pages struct{ reader }

// AliasHits looks names up.
func (p pages) AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error) {
	if err := p.log.Sync(ctx); err != nil {
		return nil, err
	}
	return p.Store.AliasHits(ctx, t, aliases)
}

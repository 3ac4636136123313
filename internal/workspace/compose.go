package workspace

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/wire"
)

// outgoing is a turn that is ready to begin.
type outgoing struct {
	who     route
	request turn.Request
}

// route is the workspace's name for a chat, as its events carry it.
type route struct {
	SessionKey string `json:"sessionKey"`
}

// compose makes a turn's request of a send: it finds the session, the model and how that is asked, and puts together what the
// upstream is to read.
func (a *API) compose(ctx context.Context, caller mooring.Caller, said *sending) (*outgoing, error) {
	c := &composing{API: a, caller: caller, said: said}
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	if err := c.choose(ctx); err != nil {
		return nil, err
	}
	if err := c.write(ctx); err != nil {
		return nil, err
	}
	return c.request(ctx)
}

// composing is a send on its way to be a request.
type composing struct {
	*API
	caller  mooring.Caller
	said    *sending
	key     string           // by which the page names the chat
	session *mooring.Session // nil where it is new
	chatID  string           // generic id that leads to the session; empty for none known
	model   string
	serving Serving

	latest  json.RawMessage   // the new message
	command bool              // it begins the chat anew
	before  []json.RawMessage // what was said before, where the upstream has to be told
	under   *mooring.MessageID
}

// find resolves the key. It is what the answer's header says, whichever session it leads to.
func (c *composing) find(ctx context.Context) error {
	key := c.said.asks()
	if key == freshKey {
		c.key = c.API.write.NewKey()
		return nil
	}
	s, named, err := c.chat(ctx, c.caller.Tenant, key)
	if err != nil {
		return err
	}
	if c.key, c.session = key, s; named {
		c.chatID = key
	}
	return nil
}

// chat finds the session that a page names: by internal id, by a generic id of requests, by key, or by its friendly id; nil where
// none has that name. named says that a generic id led to it.
func (a *API) chat(ctx context.Context, t mooring.Tenant, key string) (s *mooring.Session, named bool, err error) {
	if internalID(key) {
		one, lost := a.store.Session(ctx, t, mooring.SessionID(key))
		return &one, false, lost
	}
	kept, names, err := a.write.Name(key)
	if err != nil {
		return nil, false, err
	}
	hits, err := a.store.AliasHits(ctx, t, names)
	if err != nil {
		return nil, false, err
	}
	if len(hits) > 0 {
		one, lost := a.store.Session(ctx, t, hits[0].Session)
		if lost == nil || mooring.CodeOf(lost) != mooring.CodeSessionNotFound {
			return &one, true, lost
		}
	}
	for _, look := range []func(context.Context, mooring.Tenant, string) ([]mooring.Session, error){a.store.SessionsByKey, a.store.SessionsByFriendlyID} {
		found, err := look(ctx, t, kept)
		switch {
		case err != nil:
			return nil, false, err
		case len(found) > 1:
			return nil, false, mooring.Errorf(mooring.CodeAmbiguousKey, "%d sessions have this key; use the id of one of them, from GET /api/sessions.", len(found))
		case len(found) == 1:
			return &found[0], false, nil
		}
	}
	return nil, false, nil
}

// choose picks the model: the one asked for, else the session's last, else one that an upstream has.
func (c *composing) choose(ctx context.Context) error {
	var on mooring.UpstreamName
	if c.session != nil {
		on = c.session.Upstream
	}
	serves := func(model string) bool {
		serving, ok := c.talk.Serves(model, on)
		if ok {
			c.model, c.serving = model, serving
		}
		return ok
	}
	if c.said.model != "" {
		if !serves(c.said.model) {
			return mooring.Errorf(mooring.CodeModelNotFound, "No upstream serves the model %q; ask GET /v1/models for those that are there.", clip(c.said.model))
		}
		return nil
	}
	if c.session != nil {
		last, err := c.last(ctx)
		if err != nil || last != "" && serves(last) {
			return err
		}
		if slices.ContainsFunc(c.session.Models, func(model string) bool { return model != "" && serves(model) }) {
			return nil
		}
	}
	model, err := c.talk.Model(ctx, c.caller)
	if err == nil && !serves(model) {
		err = mooring.Errorf(mooring.CodeModelNotFound, "No upstream lists a model that it serves; name one in model.")
	}
	return err
}

// last is the model of the session's last turn, by the name that was asked for.
func (c *composing) last(ctx context.Context) (string, error) {
	if c.session.TipTurn == "" {
		return "", nil
	}
	t, err := c.store.Turn(ctx, c.caller.Tenant, c.session.TipTurn)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return "", nil
	}
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1].Alias != "" {
		return t.Attempts[n-1].Alias, err
	}
	return t.Model, err
}

// longestShown is how much of a model's name an error repeats.
const longestShown = 100

func clip(s string) string {
	if len(s) > longestShown {
		return strings.ToValidUTF8(s[:longestShown], "")
	}
	return s
}

// request puts the turn's request together.
func (c *composing) request(ctx context.Context) (*outgoing, error) {
	body := c.body()
	if most := c.talk.MaxBytes(); len(c.before) > 0 && len(body) > most {
		return nil, errGrown(most)
	}
	decoded, err := c.talk.Decode(c.caller.Tenant, c.serving.Protocol, body)
	if err != nil {
		return nil, err
	}
	release, err := c.talk.Admit(ctx, c.caller, c.model)
	if err != nil {
		return nil, err
	}
	out := &outgoing{who: route{SessionKey: c.key}}
	out.request = turn.Request{
		Caller: c.caller, Protocol: c.serving.Protocol, Method: http.MethodPost, Path: "/v1/chat/completions", Header: c.header(), Body: prepared(body),
		Wire: decoded, Kind: mooring.KindMain, Under: c.under, ClientMessage: c.said.clientID, Ended: release,
	}
	if c.serving.Protocol == mooring.Messages {
		out.request.Path = "/v1/messages"
	}
	return out, nil
}

// header names the session: a known one by its own id, unless the chat is to begin anew, since then its chat id goes to another session.
func (c *composing) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"mooring-workspace"}}
	if c.serving.Protocol == mooring.Messages {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case c.session == nil:
		h.Set("X-Session-Id", c.key)
	case c.command && c.chatID != "":
		h.Set("X-Session-Id", c.chatID)
	default:
		h.Set("X-Mooring-Session", string(c.session.ID))
	}
	return h
}

// write makes the new message, and what is to stand before it.
func (c *composing) write(ctx context.Context) error {
	var err error
	if c.latest, err = c.said.asMessage(c.serving.Protocol); err != nil {
		return err
	}
	if c.talk.Commands() {
		_, c.command = wire.NewCommand(c.latest)
	}
	if c.command {
		return c.rename(ctx)
	}
	if c.session != nil {
		return c.recall(ctx)
	}
	if c.said.parent != nil && *c.said.parent != "" {
		return noSuchMessage()
	}
	c.before = c.said.remembered()
	return nil
}

// rename finds the chat id that can be begun anew, where a page names the session otherwise.
func (c *composing) rename(ctx context.Context) error {
	if c.session == nil || c.chatID != "" {
		return nil
	}
	_, names, err := c.API.write.Name(c.session.Key)
	if err != nil {
		return nil //nolint:nilerr // a key from elsewhere that no header could carry: the chat gets another one
	}
	hits, err := c.store.AliasHits(ctx, c.caller.Tenant, names)
	if len(hits) > 0 && hits[0].Session == c.session.ID {
		c.chatID = c.session.Key
	}
	return err
}

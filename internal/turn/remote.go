package turn

import (
	"context"
	"strings"

	"mooring"
	"mooring/internal/identify"
)

// chooseRemote finds the session id for the upstream's session headers, or asks for one.
func (t *running) chooseRemote(ctx context.Context, c *mooring.Begin) error {
	t.remote = ""
	if len(t.target.SessionHeaders) == 0 {
		return nil
	}
	if t.side() && t.target.Remote { // the conversation there is not to hear of it
		t.remote = t.NewKey()
		return nil
	}
	s := &t.found.Known
	if !t.found.New {
		id, err := t.Route.Remote(ctx, t.turn.Tenant, s.ID, t.target.Server())
		if err != nil {
			return err
		}
		if id != "" {
			t.remote = id
			return nil
		}
	}
	c.Mint = t.NewKey()
	wanted := s.Key
	if s.Relation != mooring.RelationMain || !safeRemote(wanted) {
		wanted = c.Mint
	}
	c.Remote = &mooring.RemoteSession{Tenant: t.turn.Tenant, Session: s.ID, Server: t.target.Server(), ID: wanted}
	return nil
}

// safeRemote says whether an id reaches a server as it is: hermes-agent refuses path separators, two dots, a drive letter and
// more than 256 characters (gateway/platforms/api_server.py), and a header loses the white space around a value, which would
// make one id of two.
func safeRemote(id string) bool {
	drive := len(id) > 1 && id[1] == ':' && (id[0]|0x20 >= 'a' && id[0]|0x20 <= 'z')
	odd := strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' || r == '/' || r == '\\' })
	return id != "" && len(id) <= identify.MaxID && id == strings.TrimSpace(id) && !drive && !odd && !strings.Contains(id, "..")
}

// moveRemote finds the session id for the upstream that the turn moves to: the one it knows the session by, else a fresh one.
func (t *running) moveRemote(ctx context.Context) error {
	t.remote, t.moved = "", false
	if len(t.target.SessionHeaders) == 0 {
		return nil
	}
	if t.side() && t.target.Remote {
		t.remote = t.NewKey()
		return nil
	}
	id, err := t.Route.Remote(ctx, t.turn.Tenant, t.turn.Session, t.target.Server())
	if err != nil {
		return err
	}
	if t.remote = id; id == "" {
		t.remote, t.moved = t.NewKey(), true
	}
	return nil
}

package sqlstore

import (
	"context"
	"errors"

	"mooring"
)

const insertClaim = `INSERT INTO pin (tenant, session, candidates, upstream, account, bound, turn, used_at, model)
	VALUES ($1, $2, $3, $4, $5, FALSE, $6, $7, $9)
	ON CONFLICT (tenant, session, candidates) DO UPDATE SET upstream = excluded.upstream, account = excluded.account, bound = FALSE,
	turn = excluded.turn, used_at = excluded.used_at, model = excluded.model, home = '', home_account = '', home_model = ''
	WHERE pin.used_at < $8`

const pinHolder = `SELECT upstream, account, bound, turn, used_at, model, home, home_account, home_model FROM pin
	WHERE tenant = $1 AND session = $2 AND candidates = $3`

// claim makes the claim where nobody has the pin, or has not used it for long, and gives the row that holds.
func (w *writer) claim(ctx context.Context, c *mooring.Begin) error {
	if c.Claim == nil {
		return nil
	}
	p := *c.Claim
	p.Tenant, p.Session = c.Session.Tenant, c.Session.ID
	for range tries {
		added, err := w.exec(ctx, insertClaim, raw(p.Tenant), p.Session, text(p.Set), text(p.Upstream), text(p.Account), p.Turn,
			micros(p.UsedAt), micros(c.Stale), text(p.Model))
		if err != nil {
			return err
		}
		if added > 0 {
			p.Bound, p.Home = false, mooring.Spot{}
			c.Won = &p
			return nil
		}
		held := p
		found, err := w.first(ctx, pinFields(&held), pinHolder, raw(p.Tenant), p.Session, text(p.Set))
		if err != nil {
			return err
		}
		if found {
			c.Won = &held
			return nil
		}
	}
	return errors.New("a pin that another replica makes and drops all the time")
}

// pinFields are where the columns of a pin go, as pinHolder gives them.
func pinFields(p *mooring.Pin) []any {
	return []any{&p.Upstream, &p.Account, &p.Bound, &p.Turn, moment{&p.UsedAt}, &p.Model, &p.Home.Upstream, &p.Home.Account, &p.Home.Model}
}

const bindPin = `INSERT INTO pin (tenant, session, candidates, upstream, account, bound, turn, used_at, model, home, home_account,
	home_model) VALUES ($1, $2, $3, $4, $5, TRUE, $6, $7, $8, $9, $10, $11)
	ON CONFLICT (tenant, session, candidates) DO UPDATE SET upstream = excluded.upstream, account = excluded.account,
	bound = TRUE, turn = excluded.turn, used_at = excluded.used_at, model = excluded.model, home = excluded.home,
	home_account = excluded.home_account, home_model = excluded.home_model`

const sessionExists = `SELECT 1 FROM session WHERE tenant = $1 AND id = $2`

func (w *writer) bind(ctx context.Context, c *mooring.Bind) error {
	c.Taken, c.Err = false, nil
	var one int
	found, err := w.first(ctx, []any{&one}, sessionExists, raw(c.Pin.Tenant), c.Pin.Session)
	if err != nil {
		return err
	}
	if !found {
		c.Err = gone()
		return nil
	}
	c.Taken, err = w.pinTo(ctx, &c.Pin, c.Remote)
	return err
}

// pinTo binds a pin and takes over the remote id that the upstream told; either may be nil. It says whether another session
// has that id.
func (w *writer) pinTo(ctx context.Context, p *mooring.Pin, remote *mooring.RemoteSession) (taken bool, err error) {
	if p != nil {
		err = w.later(ctx, bindPin, raw(p.Tenant), p.Session, text(p.Set), text(p.Upstream), text(p.Account), p.Turn,
			micros(p.UsedAt), text(p.Model), text(p.Home.Upstream), text(p.Home.Account), text(p.Home.Model))
		if err != nil {
			return false, err
		}
	}
	if remote == nil {
		return false, nil
	}
	ours, err := w.holdRemote(ctx, *remote)
	return err == nil && !ours, err
}

const dropClaim = `DELETE FROM pin WHERE tenant = $1 AND session = $2 AND turn = $3 AND NOT bound`

const pinUsed = `UPDATE pin SET used_at = $4 WHERE tenant = $1 AND session = $2 AND candidates = $3 AND used_at < $4`

func (w *writer) pinsUsed(ctx context.Context, c *mooring.PinsUsed) error {
	c.Err = nil
	for _, p := range orderPins(c.Pins) {
		if err := w.later(ctx, pinUsed, raw(p.Tenant), p.Session, text(p.Set), micros(p.UsedAt)); err != nil {
			return err
		}
	}
	return nil
}

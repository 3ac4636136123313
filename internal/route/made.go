package route

import (
	"context"

	"mooring"
)

// made is where a session's last answer was made.
type made struct {
	message mooring.MessageID
	spot    mooring.Spot
}

// Remembered says where an answer was made, as far as that is known without a look into the store: false where it is not.
func (p *Picker) Remembered(t mooring.Tenant, s mooring.SessionID, answer mooring.MessageID) (mooring.Spot, bool) {
	m, ok := p.made.GetIfPresent(home{t, s})
	return m.spot, ok && m.message == answer
}

// KeepMade remembers where a session's last answer was made.
func (p *Picker) KeepMade(t mooring.Tenant, s mooring.SessionID, answer mooring.MessageID, at mooring.Spot) {
	p.made.Set(home{t, s}, made{answer, at})
}

// Made says where the answer at a message, or the nearest one above it, was made; zero where nobody knows any more.
func (p *Picker) Made(ctx context.Context, t mooring.Tenant, s mooring.SessionID, at mooring.MessageID) (mooring.Spot, error) {
	if spot, ok := p.Remembered(t, s, at); ok {
		return spot, nil
	}
	turn, err := p.Store.MadeAt(ctx, t, at)
	if err != nil || turn.ID == "" {
		return mooring.Spot{}, err
	}
	spot := mooring.Spot{Upstream: turn.Upstream, Account: turn.Account, Model: turn.Model}
	p.KeepMade(t, s, at, spot)
	return spot, nil
}

package app

import (
	"context"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/peer"
	"mooring/internal/store/postgres"
)

// meet lets the turns of this replica and those of others know of each other, where the store is one that several share.
func (a *App) meet(cfg *config.Config) error {
	if !cfg.Store.Postgres() {
		return nil
	}
	bus, err := postgres.NewBus(cfg.Store.Reveal())
	if err != nil {
		return err
	}
	a.onStop(func() { a.closed("bus", bus.Close()) })
	a.turns.Elsewhere.Fenced, a.turns.Elsewhere.Rivals = a.store.FencedTurns, a.store.RunningTurns
	a.peers = peer.New(peer.Options{Bus: bus, Name: a.ids.replica, Look: a.turns.Heed, Open: a.turns.Open, Now: a.opts.Now, Log: a.opts.Log})
	a.turns.Elsewhere.Peers = a.peers
	return nil
}

// greet begins to listen to other replicas.
func (a *App) greet() {
	if a.peers != nil {
		a.peers.Start()
		a.onStop(a.peers.Close)
	}
}

// Beat says that this replica lives, and sees whether its clock is the database's.
func (s timedStore) Beat(ctx context.Context, replica string) (mooring.Pulse, error) {
	asked := s.clock.base()
	p, err := s.Store.Beat(ctx, replica)
	if err == nil && !s.clock.agrees(asked, s.clock.base(), p.Now) {
		err = s.clock.set(ctx, s.Clock)
	}
	return p, err
}

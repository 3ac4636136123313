package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"mooring"
)

const sessionColumns = `tenant, id, client_key, friendly_id, title, client, project, parent, root, relation, state, upstream,
	models, turns, side_only, input, output, cache_read, cache_write_5m, cache_write_1h, cost_usd, unpriced, tip, tip_turn,
	created_at, updated_at, pinned, archived, named, traits, reset_of, cut`

func scanSession(row scanner) (mooring.Session, error) {
	var s mooring.Session
	var models, named string
	var cost float64
	var unpriced int
	err := row.Scan((*rawText)(&s.Tenant), &s.ID, (*rawText)(&s.Key), &s.FriendlyID, &s.Title, &s.Client, &s.Project, &s.Parent,
		&s.Root, &s.Relation, &s.State, &s.Upstream, &models, &s.Turns, &s.SideOnly, count{&s.Usage.Input}, count{&s.Usage.Output},
		count{&s.Usage.CacheRead}, count{&s.Usage.CacheWrite5m}, count{&s.Usage.CacheWrite1h}, &cost, &unpriced, &s.Tip,
		&s.TipTurn, moment{&s.CreatedAt}, moment{&s.UpdatedAt}, &s.Pinned, &s.Archived, &named, &s.Traits, &s.ResetOf, &s.Cut)
	if err != nil {
		return s, err
	}
	if unpriced == 0 {
		s.CostUSD = &cost
	}
	if named != "" {
		s.Named = strings.Split(named, ",")
	}
	return s, parse(models, &s.Models)
}

const sessionByID = `SELECT ` + sessionColumns + ` FROM session WHERE tenant = $1 AND id = $2`

// Session gives one session of a tenant, or an error with CodeSessionNotFound.
func (s *Store) Session(ctx context.Context, tenant mooring.Tenant, id mooring.SessionID) (mooring.Session, error) {
	list, err := s.readSessions(ctx, sessionByID, raw(tenant), id)
	if err != nil {
		return mooring.Session{}, s.dialect.failed(err, fmt.Sprintf("read session %s", id.Short()))
	}
	if len(list) == 0 {
		return mooring.Session{}, sessionNotFound()
	}
	return list[0], nil
}

// SessionsOf gives those of the sessions that the tenant has, in no order.
func (s *Store) SessionsOf(ctx context.Context, tenant mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant)}
	for i := range padded(len(ids)) {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	list, err := s.readSessions(ctx, `SELECT `+sessionColumns+` FROM session WHERE tenant = $1 AND id IN (`+marks(2, len(args))+`)`, args...)
	return list, s.dialect.failed(err, "read sessions")
}

const sessionsByKey = `SELECT ` + sessionColumns + ` FROM session WHERE tenant = $1 AND client_key = $2 ORDER BY updated_at DESC, id DESC`

// SessionsByKey gives the sessions that a client named by these very bytes, the newest activity first.
func (s *Store) SessionsByKey(ctx context.Context, tenant mooring.Tenant, key string) ([]mooring.Session, error) {
	list, err := s.readSessions(ctx, sessionsByKey, raw(tenant), bytes(key))
	return list, s.dialect.failed(err, "read sessions by key")
}

const sessionsByFriendlyID = `SELECT ` + sessionColumns + ` FROM session WHERE tenant = $1 AND friendly_id = $2 ORDER BY updated_at DESC, id DESC`

// SessionsByFriendlyID gives the sessions of a short name, the newest activity first. Nearly always there is at most one.
func (s *Store) SessionsByFriendlyID(ctx context.Context, tenant mooring.Tenant, id string) ([]mooring.Session, error) {
	list, err := s.readSessions(ctx, sessionsByFriendlyID, raw(tenant), text(id))
	return list, s.dialect.failed(err, "read sessions by friendly id")
}

func (s *Store) readSessions(ctx context.Context, query string, args ...any) ([]mooring.Session, error) {
	var list []mooring.Session
	err := s.each(ctx, func(row scanner) error {
		one, err := scanSession(row)
		list = append(list, one)
		return err
	}, query, args...)
	return list, err
}

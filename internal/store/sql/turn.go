package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"mooring"
)

const turnColumns = `tenant, id, session, kind, protocol, model, api_key, stream, state, upstream, account, pin, identity,
	evidence, question, answer, view, attempts, input, output, cache_read, cache_write_5m, cache_write_1h, cost_usd, status,
	error_code, body_digest, replica, started_at, first_at, ended_at, client_message, retry_key, fence`

func scanTurn(row scanner) (mooring.Turn, error) {
	var t mooring.Turn
	var evidence, view, attempts string
	var cost sql.NullFloat64
	err := row.Scan((*rawText)(&t.Tenant), &t.ID, &t.Session, &t.Kind, &t.Protocol, &t.Model, &t.Key, &t.Stream, &t.State,
		&t.Upstream, &t.Account, &t.Pin, &t.Identity, &evidence, &t.Question, &t.Answer, &view, &attempts, count{&t.Usage.Input},
		count{&t.Usage.Output}, count{&t.Usage.CacheRead}, count{&t.Usage.CacheWrite5m}, count{&t.Usage.CacheWrite1h}, &cost,
		&t.Status, &t.ErrorCode, &t.BodyDigest, &t.Replica, moment{&t.StartedAt}, moment{&t.FirstAt}, moment{&t.EndedAt},
		&t.ClientMessage, &t.RetryKey, &t.Fence)
	if err != nil {
		return t, err
	}
	if cost.Valid {
		t.CostUSD = &cost.Float64
	}
	if err := parse(evidence, &t.Evidence); err != nil {
		return t, err
	}
	if err := parse(view, &t.View); err != nil {
		return t, err
	}
	return t, parse(attempts, &t.Attempts)
}

func (s *Store) readTurns(ctx context.Context, query string, args ...any) ([]mooring.Turn, error) {
	var list []mooring.Turn
	err := s.each(ctx, func(row scanner) error {
		t, err := scanTurn(row)
		list = append(list, t)
		return err
	}, query, args...)
	return list, err
}

const turnsOfSession = `SELECT ` + turnColumns + ` FROM turn WHERE tenant = $1 AND session = $2 AND id < $3
	ORDER BY id DESC LIMIT $4`

// Turns gives the last turns of a session, oldest first, and whether there are more before them. A limit of 0 stands for 100.
func (s *Store) Turns(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, p mooring.TurnPage) ([]mooring.Turn, bool, error) {
	limit, before := p.Limit, p.Before
	if limit <= 0 {
		limit = defaultLimit
	}
	if before == "" {
		before = "~" // behind every id: without it this is the same stretch of the index
	}
	list, err := s.readTurns(ctx, turnsOfSession, raw(tenant), session, before, limit+1)
	if err != nil {
		return nil, false, s.dialect.failed(err, fmt.Sprintf("read turns of session %s", session.Short()))
	}
	more := len(list) > limit
	if more {
		list = list[:limit]
	}
	slices.Reverse(list)
	return list, more, nil
}

const turnByID = `SELECT ` + turnColumns + ` FROM turn WHERE tenant = $1 AND id = $2`

// Turn gives one turn of a tenant, or an error with CodeNotFound.
func (s *Store) Turn(ctx context.Context, tenant mooring.Tenant, id mooring.TurnID) (mooring.Turn, error) {
	list, err := s.readTurns(ctx, turnByID, raw(tenant), id)
	if err != nil {
		return mooring.Turn{}, s.dialect.failed(err, "read a turn")
	}
	if len(list) == 0 {
		return mooring.Turn{}, mooring.Errorf(mooring.CodeNotFound, "There is no such turn.")
	}
	return list[0], nil
}

const sentTurns = `SELECT ` + turnColumns + ` FROM turn WHERE tenant = $1 AND session = $2 AND client_message = $3 AND client_message <> ''`

// SentTurn gives the turn that a client's own message began in a session, or an error with CodeNotFound.
func (s *Store) SentTurn(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, clientMessage string) (mooring.Turn, error) {
	list, err := s.readTurns(ctx, sentTurns, raw(tenant), session, text(clientMessage))
	if err != nil {
		return mooring.Turn{}, s.dialect.failed(err, fmt.Sprintf("look a message of session %s up", session.Short()))
	}
	if len(list) == 0 {
		return mooring.Turn{}, mooring.Errorf(mooring.CodeNotFound, "There is no such turn.")
	}
	return list[0], nil
}

// The condition on the state is the one of the index.
const failedTurns = `SELECT ` + turnColumns + ` FROM turn WHERE tenant = $1 AND body_digest = $2
	AND state IN ('failed', 'cancelled', 'interrupted') AND ended_at >= $3 ORDER BY id DESC LIMIT 8`

// FailedTurns gives the turns of an equal request body that ended without a whole answer since then, the newest first; at
// most eight.
func (s *Store) FailedTurns(ctx context.Context, tenant mooring.Tenant, body []byte, since time.Time) ([]mooring.Turn, error) {
	list, err := s.readTurns(ctx, failedTurns, raw(tenant), body, micros(since))
	return list, s.dialect.failed(err, "look failed turns up")
}

package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"mooring"
)

const aliasHit = `SELECT class, value, session FROM alias WHERE tenant = $1 AND class = $%d AND value = $%d`

// AliasHits gives the sessions that the aliases name, in one query. Those that name none are left out.
func (s *Store) AliasHits(ctx context.Context, tenant mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error) {
	if len(aliases) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant)}
	var parts []string
	for i := range padded(len(aliases)) {
		parts = append(parts, fmt.Sprintf(aliasHit, len(args)+1, len(args)+2))
		var a mooring.Alias // what fills up has no class, which no row has
		if i < len(aliases) {
			a = aliases[i]
		}
		args = append(args, text(a.Class), bytes(a.Value))
	}
	var hits []mooring.AliasHit
	err := s.each(ctx, func(row scanner) error {
		var hit mooring.AliasHit
		err := row.Scan(&hit.Class, (*rawText)(&hit.Value), &hit.Session)
		hits = append(hits, hit)
		return err
	}, strings.Join(parts, " UNION ALL "), args...)
	return hits, s.dialect.failed(err, "look aliases up")
}

// What many sessions have in common tells none of them apart, and must cost no more than what few have: of each kind of each digest only
// the newest count, and of all together.
const (
	mostAlike    = 64
	longestChain = 512
)

const chains = `WITH k (digest) AS (SELECT digest FROM chain WHERE FALSE%s), n (kind) AS (%s)
	SELECT c.kind, c.digest, c.session, c.message, c.sketch FROM k CROSS JOIN n CROSS JOIN %s ORDER BY c.message DESC LIMIT $3`

// chainKinds are all kinds, each a row.
const chainKinds = `SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6`

// Chain finds the tenant's messages by digests of any kind, the newest first.
func (s *Store) Chain(ctx context.Context, tenant mooring.Tenant, digests [][]byte) ([]mooring.ChainEntry, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant), mostAlike, longestChain}
	var asked strings.Builder
	for i := range padded(len(digests)) {
		var digest []byte // what fills up is null, which no row has
		if i < len(digests) {
			digest = digests[i]
		}
		args = append(args, digest)
		fmt.Fprintf(&asked, " UNION ALL SELECT $%d", len(args))
	}
	query := fmt.Sprintf(chains, asked.String(), chainKinds, s.dialect.Newest)
	var list []mooring.ChainEntry
	err := s.each(ctx, func(row scanner) error {
		var e mooring.ChainEntry
		err := row.Scan(&e.Kind, &e.Digest, &e.Session, &e.Message, &e.Sketch)
		list = append(list, e)
		return err
	}, query, args...)
	return list, s.dialect.failed(err, "look digests up")
}

const pinsOfSession = `SELECT candidates, upstream, account, bound, turn, used_at, model, home, home_account, home_model FROM pin
	WHERE tenant = $1 AND session = $2 ORDER BY candidates`

// Pins gives a session's pins and claims, one for each set of candidates.
func (s *Store) Pins(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID) ([]mooring.Pin, error) {
	var pins []mooring.Pin
	err := s.each(ctx, func(row scanner) error {
		p := mooring.Pin{Tenant: tenant, Session: session}
		err := row.Scan(append([]any{&p.Set}, pinFields(&p)...)...)
		pins = append(pins, p)
		return err
	}, pinsOfSession, raw(tenant), session)
	return pins, s.dialect.failed(err, fmt.Sprintf("read pins of session %s", session.Short()))
}

// Remote gives the id under which a server knows a session, empty where it knows none.
func (s *Store) Remote(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, server string) (string, error) {
	var id []byte
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&id) }, currentRemote, raw(tenant), session, text(server))
	return string(id), s.dialect.failed(err, fmt.Sprintf("read remote session of %s", session.Short()))
}

const strayRows = `SELECT (SELECT count(*) FROM session WHERE tenant = $1) + (SELECT count(*) FROM turn WHERE tenant = $1) +
	(SELECT count(*) FROM message WHERE tenant = $1) + (SELECT count(*) FROM alias WHERE tenant = $1)`

// Stray counts the rows without tenant, which a restored backup may hold and nobody can see.
func (s *Store) Stray(ctx context.Context) (int, error) {
	n := 0
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&n) }, strayRows, []byte{})
	return n, s.dialect.failed(err, "count rows without tenant")
}

package sqlstore

import (
	"context"
	"slices"
	"strings"

	"mooring"
)

// A header's state only grows, whichever replica comes last.
const learnHeader = `INSERT INTO learned_header (tenant, name, state, believed, refused, why, doubts) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (tenant, name) DO UPDATE SET state = excluded.state, refused = excluded.refused, why = excluded.why, doubts = excluded.doubts,
	believed = CASE WHEN learned_header.believed = 0 THEN excluded.believed ELSE learned_header.believed END
	WHERE excluded.state > learned_header.state OR excluded.state = 1 AND learned_header.state = 1`

const learnedState = `SELECT state FROM learned_header WHERE tenant = $1 AND name = $2`

const learnValue = `INSERT INTO learned_value (tenant, session, name, digest, client, turns, whole, seen_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (tenant, session, name) DO UPDATE SET digest = excluded.digest, client = excluded.client, turns = excluded.turns,
	whole = excluded.whole, seen_at = excluded.seen_at`

// forgetValues is for a session that is deleted.
const forgetValues = `DELETE FROM learned_value WHERE tenant = $1 AND session = $2`

const dropValue = `DELETE FROM learned_value WHERE tenant = $1 AND session = $2 AND name = $3`

// What a header has in all sessions goes with it. The list of names is short.
const unlearn = `DELETE FROM learned_value WHERE tenant = $1 AND name = $2`

const unname = `DELETE FROM alias WHERE tenant = $1 AND class = $2`

const forgetHeader = `DELETE FROM learned_header WHERE tenant = $1 AND name = $2 AND state = 0`

func (w *writer) learn(ctx context.Context, c *mooring.Learning) error {
	c.Err = nil
	if c.Tenant == "" {
		c.Err = noTenant()
		return nil
	}
	headers := slices.SortedFunc(slices.Values(c.Headers), func(a, b mooring.LearnedHeader) int { return strings.Compare(a.Name, b.Name) })
	for i := range headers {
		if err := w.learnHeader(ctx, c.Tenant, &headers[i]); err != nil {
			return err
		}
	}
	for _, d := range c.Dropped {
		if _, err := w.exec(ctx, dropValue, raw(c.Tenant), d.Session, text(d.Name)); err != nil {
			return err
		}
	}
	for _, name := range c.Forgot {
		if err := w.forgetHeader(ctx, c.Tenant, name); err != nil {
			return err
		}
	}
	return w.learnAliases(ctx, c)
}

func (w *writer) learnHeader(ctx context.Context, t mooring.Tenant, h *mooring.LearnedHeader) error {
	_, err := w.exec(ctx, learnHeader, raw(t), text(h.Name), int64(h.State), micros(h.Believed), micros(h.Refused), text(h.Why), int64(h.Doubts))
	if err != nil {
		return err
	}
	refused, err := w.refused(ctx, t, h.Name)
	if err != nil || refused {
		return err
	}
	for _, v := range h.Values {
		there, err := w.there(ctx, t, v.Session)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		_, err = w.exec(ctx, learnValue, raw(t), v.Session, text(h.Name), v.Digest, v.Client, int64(v.Turns), v.Whole, micros(v.At))
		if err != nil {
			return err
		}
	}
	return nil
}

// refused says whether a header is refused by now; of one that is nothing is kept but that.
func (w *writer) refused(ctx context.Context, t mooring.Tenant, name string) (bool, error) {
	var state int64
	found, err := w.first(ctx, []any{&state}, learnedState, raw(t), text(name))
	if err != nil || !found || mooring.LearnState(state) != mooring.LearnRefused {
		return false, err
	}
	if _, err = w.exec(ctx, unlearn, raw(t), text(name)); err != nil {
		return true, err
	}
	_, err = w.exec(ctx, unname, raw(t), text(mooring.ClassLearned+mooring.AliasClass(name)))
	return true, err
}

func (w *writer) there(ctx context.Context, t mooring.Tenant, s mooring.SessionID) (bool, error) {
	var one int64
	return w.first(ctx, []any{&one}, sessionExists, raw(t), s)
}

// forgetHeader forgets a header that is only watched; what another replica has found out meanwhile stays.
func (w *writer) forgetHeader(ctx context.Context, t mooring.Tenant, name string) error {
	n, err := w.exec(ctx, forgetHeader, raw(t), text(name))
	if err != nil || n == 0 {
		return err
	}
	_, err = w.exec(ctx, unlearn, raw(t), text(name))
	return err
}

func (w *writer) learnAliases(ctx context.Context, c *mooring.Learning) error {
	for _, hit := range c.Aliases {
		name := strings.TrimPrefix(string(hit.Class), string(mooring.ClassLearned))
		refused, err := w.refused(ctx, c.Tenant, name)
		if err != nil {
			return err
		}
		there, err := w.there(ctx, c.Tenant, hit.Session)
		if err != nil {
			return err
		}
		if refused || !there {
			continue
		}
		if _, err = w.addAlias(ctx, mooring.Session{Tenant: c.Tenant, ID: hit.Session}, hit.Alias); err != nil {
			return err
		}
	}
	return nil
}

const learnedHeaders = `SELECT name, state, believed, refused, why, doubts FROM learned_header WHERE tenant = $1 ORDER BY name`

const learnedValues = `SELECT name, session, digest, client, turns, whole, seen_at FROM learned_value WHERE tenant = $1 ORDER BY seen_at`

// Learned gives what is known of a tenant's headers that may name sessions, the values of each in the order in which they were seen.
func (s *Store) Learned(ctx context.Context, tenant mooring.Tenant) ([]mooring.LearnedHeader, error) {
	var list []mooring.LearnedHeader
	at := map[string]int{}
	err := s.each(ctx, func(row scanner) error {
		var h mooring.LearnedHeader
		err := row.Scan(&h.Name, &h.State, moment{&h.Believed}, moment{&h.Refused}, &h.Why, &h.Doubts)
		at[h.Name] = len(list)
		list = append(list, h)
		return err
	}, learnedHeaders, raw(tenant))
	if err == nil && len(list) > 0 {
		err = s.learnedValues(ctx, tenant, func(name string, v mooring.LearnedValue) {
			if i, ok := at[name]; ok {
				list[i].Values = append(list[i].Values, v)
			}
		})
	}
	return list, s.dialect.failed(err, "read learned headers")
}

func (s *Store) learnedValues(ctx context.Context, tenant mooring.Tenant, take func(name string, v mooring.LearnedValue)) error {
	return s.each(ctx, func(row scanner) error {
		var name string
		var v mooring.LearnedValue
		err := row.Scan(&name, &v.Session, &v.Digest, &v.Client, &v.Turns, &v.Whole, moment{&v.At})
		take(name, v)
		return err
	}, learnedValues, raw(tenant))
}

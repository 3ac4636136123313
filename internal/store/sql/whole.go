package sqlstore

import (
	"cmp"
	"context"

	"mooring"
)

// A turn that begins and ends within one batch is written once, as it ended: half the statements of a begin and an end.

// wholes finds the ends whose begins stand in the same batch before them, with nothing between that could tell the difference:
// no other change of that session, nor one of sessions that it does not name. A next attempt, a claim or a new session is left
// to the ordinary way: there the begin has an answer to give.
func wholes(batch []mooring.Change) map[*mooring.Begin]*mooring.End {
	var found map[*mooring.Begin]*mooring.End
	if len(batch) < 2 {
		return nil
	}
	open := map[[2]string]*mooring.Begin{} // of the sessions whose last change it is
	for _, change := range batch {
		switch c := change.(type) {
		case *mooring.Applied:
			continue
		case *mooring.Retire, *mooring.Fence, *mooring.Prune, *mooring.PinsUsed:
			clear(open)
		case *mooring.End:
			b := open[sessionsOf(c)[0]]
			if b == nil || b.Turn.ID != c.Turn.ID {
				break
			}
			if found == nil {
				found = map[*mooring.Begin]*mooring.End{}
			}
			found[b] = c
		}
		for _, session := range sessionsOf(change) {
			delete(open, session)
		}
		if b, ok := change.(*mooring.Begin); ok && atOnce(b) {
			open[sessionsOf(b)[0]] = b
		}
	}
	return found
}

func atOnce(b *mooring.Begin) bool {
	return !b.New && b.Claim == nil && b.Remote == nil && b.Seen == nil && !b.Sole && !b.Resumes && b.Turn.ID != "" && b.Turn.Kind != mooring.KindSide
}

const wholeTurn = `INSERT INTO turn (tenant, id, session, kind, protocol, model, api_key, stream, state, upstream, account, pin,
	identity, evidence, question, answer, view, attempts, input, output, cache_read, cache_write_5m, cache_write_1h, cost_usd,
	unpriced, status, error_code, body_digest, replica, started_at, first_at, ended_at, client_message, retry_key)
	SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
	$27, $28, $29, $30, $31, $32, $33, $34 WHERE EXISTS (SELECT 1 FROM session WHERE tenant = $1 AND id = $3) ON CONFLICT DO NOTHING`

const wholeSession = `UPDATE session SET
	updated_at = $3, state = $4, side_only = FALSE, turns = turns + 1, tip_turn = $6,
	tip = CASE WHEN $5 = '' THEN tip ELSE $5 END,
	upstream = CASE WHEN $7 = '' THEN upstream ELSE $7 END,
	client = CASE WHEN client = '' THEN $8 ELSE client END,
	project = CASE WHEN project = '' THEN $9 ELSE project END,
	title = CASE WHEN title = '' THEN $10 ELSE title END,
	models = CASE WHEN $11 = '' THEN models ELSE $11 END,
	input = COALESCE(input + $12, $12, input), output = COALESCE(output + $13, $13, output),
	cache_read = COALESCE(cache_read + $14, $14, cache_read),
	cache_write_5m = COALESCE(cache_write_5m + $15, $15, cache_write_5m),
	cache_write_1h = COALESCE(cache_write_1h + $16, $16, cache_write_1h),
	cost_usd = cost_usd + COALESCE(CAST($17 AS DOUBLE PRECISION), 0), unpriced = unpriced + $18
	WHERE tenant = $1 AND id = $2`

// whole writes a turn at once. done is false where its row or its session says that this is not its first time: then the
// begin and the end are taken one by one, which does no harm twice.
func (w *writer) whole(ctx context.Context, b *mooring.Begin, e *mooring.End) (done bool, err error) {
	b.Won, b.RemoteID, b.Busy, b.Fenced, b.Err, e.Fenced, e.Err = nil, "", nil, nil, nil, "", nil
	inserted, err := w.insertWhole(ctx, b, e)
	if err != nil || !inserted {
		return false, err
	}
	w.noteBegin(b)
	w.noteEnd(e)
	if err := w.advance(ctx, b, e); err != nil {
		return false, err
	}
	if err := w.addAliases(ctx, b); err != nil {
		return false, err
	}
	if err := w.addMessages(ctx, b.Session, b.Messages); err != nil {
		return false, err
	}
	return true, w.answer(ctx, e)
}

func (w *writer) insertWhole(ctx context.Context, b *mooring.Begin, e *mooring.End) (bool, error) {
	t, u := e.Turn, e.Turn.Usage
	evidence, err := list(b.Turn.Evidence)
	if err != nil {
		return false, err
	}
	view, err := object(b.Turn.View)
	if err != nil {
		return false, err
	}
	attempts, err := list(t.Attempts)
	if err != nil {
		return false, err
	}
	model := cmp.Or(t.Model, b.Turn.Model)
	n, err := w.exec(ctx, wholeTurn, raw(b.Session.Tenant), t.ID, b.Session.ID, b.Turn.Kind, b.Turn.Protocol, text(model), text(b.Turn.Key),
		b.Turn.Stream, t.State, text(t.Upstream), text(t.Account), t.Pin, text(b.Turn.Identity), evidence, b.Turn.Question, answerOf(e), view,
		attempts, tokens(u.Input), tokens(u.Output), tokens(u.CacheRead), tokens(u.CacheWrite5m), tokens(u.CacheWrite1h), dollars(t.CostUSD),
		unpriced(t), t.Status, t.ErrorCode, b.Turn.BodyDigest, text(b.Turn.Replica), micros(b.Turn.StartedAt), micros(t.FirstAt), micros(t.EndedAt),
		text(b.Turn.ClientMessage), b.Turn.RetryKey)
	return n > 0, err
}

// answerOf is the message that an end brings, empty where nothing arrived.
func answerOf(e *mooring.End) mooring.MessageID {
	if e.Answer != nil {
		return e.Answer.ID
	}
	return e.Turn.Answer
}

func (w *writer) advance(ctx context.Context, b *mooring.Begin, e *mooring.End) error {
	s, step := b.Session, stepOf(b)
	t, u := e.Turn, e.Turn.Usage
	tip := step.tip
	if answer := answerOf(e); answer != "" {
		tip = answer
	}
	all := s.Models
	if e.Models != nil {
		all = e.Models
	}
	models, err := list(all)
	if err != nil {
		return err
	}
	upstream := homeAfter(t)
	if upstream == "" {
		upstream = s.Upstream
	}
	return w.later(ctx, wholeSession, raw(s.Tenant), s.ID, micros(t.EndedAt), t.State, tip, t.ID, text(upstream), text(s.Client), text(s.Project),
		text(s.Title), models, tokens(u.Input), tokens(u.Output), tokens(u.CacheRead), tokens(u.CacheWrite5m), tokens(u.CacheWrite1h),
		dollars(t.CostUSD), unpriced(t))
}

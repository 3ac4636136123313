package sqlstore

import (
	"context"

	"mooring"
)

// The session changes by the difference to what the turn's row held, so that the same end committed twice counts once, and a
// next attempt counts what it added. It is named by a query of its own: as long as PostgreSQL has no statistics it joins by going through
// all sessions of the tenant.
const endSession = `UPDATE session SET
	updated_at = $3,
	state = CASE WHEN session.tip_turn = $2 OR session.side_only THEN $4 ELSE session.state END,
	upstream = CASE WHEN $5 <> '' AND (session.tip_turn = $2 OR session.side_only) THEN $5 ELSE session.upstream END,
	tip = CASE WHEN session.tip_turn = $2 AND $6 <> '' THEN $6 ELSE session.tip END,
	input = COALESCE(COALESCE(session.input, 0) + $7 - COALESCE(turn.input, 0), session.input),
	output = COALESCE(COALESCE(session.output, 0) + $8 - COALESCE(turn.output, 0), session.output),
	cache_read = COALESCE(COALESCE(session.cache_read, 0) + $9 - COALESCE(turn.cache_read, 0), session.cache_read),
	cache_write_5m = COALESCE(COALESCE(session.cache_write_5m, 0) + $10 - COALESCE(turn.cache_write_5m, 0), session.cache_write_5m),
	cache_write_1h = COALESCE(COALESCE(session.cache_write_1h, 0) + $11 - COALESCE(turn.cache_write_1h, 0), session.cache_write_1h),
	cost_usd = session.cost_usd + COALESCE(CAST($12 AS DOUBLE PRECISION), 0) - COALESCE(turn.cost_usd, 0),
	unpriced = session.unpriced + $13 - turn.unpriced,
	models = CASE WHEN $14 = '' THEN session.models ELSE $14 END
	FROM turn
	WHERE turn.tenant = $1 AND turn.id = $2 AND session.tenant = $1 AND session.id = (SELECT t.session FROM turn AS t WHERE t.tenant = $1 AND t.id = $2)`

// What is written of the turn decides: only who runs it may end it, and one that is fenced only as cancelled. The same end once more
// changes nothing.
const endTurn = `UPDATE turn SET state = $3, upstream = $4, account = $5, pin = $6, attempts = $7,
	answer = CASE WHEN $8 = '' THEN answer ELSE $8 END,
	input = COALESCE($9, input), output = COALESCE($10, output), cache_read = COALESCE($11, cache_read),
	cache_write_5m = COALESCE($12, cache_write_5m), cache_write_1h = COALESCE($13, cache_write_1h),
	cost_usd = $14, unpriced = $15, status = $16, error_code = $17, first_at = $18, ended_at = $19,
	model = CASE WHEN $21 = '' THEN model ELSE $21 END
	WHERE tenant = $1 AND id = $2 AND replica = $20 AND (state = 'running' AND (fence = '' OR $3 = 'cancelled') OR state = $3 AND ended_at = $19)`

func (w *writer) end(ctx context.Context, c *mooring.End) error {
	if c.Taken, c.Fenced, c.Err = false, "", w.turnedDown(c); c.Err != nil {
		return w.whyNot(ctx, c)
	}
	t, u := c.Turn, c.Turn.Usage
	answer := answerOf(c)
	models, err := list(c.Models)
	if err != nil {
		return err
	}
	err = w.laterThen(ctx, refuseNone(c, gone()), endSession, raw(t.Tenant), t.ID, micros(t.EndedAt), t.State, text(homeAfter(t)), answer, tokens(u.Input),
		tokens(u.Output), tokens(u.CacheRead), tokens(u.CacheWrite5m), tokens(u.CacheWrite1h), dollars(t.CostUSD), unpriced(t), models)
	if err != nil {
		return err
	}
	w.noteEnd(c)
	attempts, err := list(t.Attempts)
	if err != nil {
		return err
	}
	err = w.laterThen(ctx, refuseNone(c, lost()), endTurn, raw(t.Tenant), t.ID, t.State, text(t.Upstream), text(t.Account), t.Pin, attempts, answer,
		tokens(u.Input), tokens(u.Output), tokens(u.CacheRead), tokens(u.CacheWrite5m), tokens(u.CacheWrite1h),
		dollars(t.CostUSD), unpriced(t), t.Status, t.ErrorCode, micros(t.FirstAt), micros(t.EndedAt), text(t.Replica), text(t.Model))
	if err != nil {
		return err
	}
	return w.answer(ctx, c)
}

const fenceOf = `SELECT fence FROM turn WHERE tenant = $1 AND id = $2 AND replica = $3`

// whyNot tells an end that was refused whether another request has stopped its turn, or it is another replica's.
func (w *writer) whyNot(ctx context.Context, c *mooring.End) error {
	found, err := w.first(ctx, []any{&c.Fenced}, fenceOf, raw(c.Turn.Tenant), c.Turn.ID, text(c.Turn.Replica))
	if err == nil && found && c.Fenced != "" {
		c.Err = mooring.Errorf(mooring.CodeTurnFenced, "The turn was stopped by another request.")
	}
	return err
}

// homeAfter is the upstream that a session is with after the turn; empty where that leaves it where it was.
func homeAfter(t mooring.Turn) mooring.UpstreamName {
	if t.Pin == mooring.PinSpill {
		return ""
	}
	return t.Upstream
}

// answer writes what an end brings besides the turn's state.
func (w *writer) answer(ctx context.Context, c *mooring.End) error {
	owner := mooring.Session{Tenant: c.Turn.Tenant, ID: c.Turn.Session}
	var messages []mooring.Message
	if c.Answer != nil {
		messages = []mooring.Message{*c.Answer}
	}
	if err := w.addMessages(ctx, owner, messages); err != nil {
		return err
	}
	if c.DropClaim {
		if err := w.later(ctx, dropClaim, raw(c.Turn.Tenant), c.Turn.Session, c.Turn.ID); err != nil {
			return err
		}
	}
	if err := w.keepObjects(ctx, c.Objects); err != nil {
		return err
	}
	var err error
	c.Taken, err = w.pinTo(ctx, c.Bind, c.Remote)
	return err
}

// unpriced is 1 for a turn that used something nobody knows the price of. One that failed before it used anything costs
// nothing.
func unpriced(t mooring.Turn) int {
	u := t.Usage
	used := t.State == mooring.Completed || u.Input.Known || u.Output.Known || u.CacheRead.Known || u.CacheWrite5m.Known ||
		u.CacheWrite1h.Known
	if t.CostUSD == nil && used {
		return 1
	}
	return 0
}

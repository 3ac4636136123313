package sqlstore

import (
	"context"
	"errors"
	"strings"

	"mooring"
)

func (w *writer) begin(ctx context.Context, c *mooring.Begin) error {
	c.Won, c.RemoteID, c.Busy, c.Fenced, c.Err = nil, "", nil, nil, w.turnedDown(c)
	if c.Session.Tenant == "" {
		c.Err = noTenant()
	}
	if errors.Is(c.Err, errNotThere) {
		return w.notFound(ctx, c)
	}
	if c.Err != nil {
		return nil //nolint:nilerr // the outcome is the change's own
	}
	if err := w.unsent(ctx, c); err != nil || c.Err != nil {
		return err
	}
	if err := w.open(ctx, c); err != nil || c.Err != nil {
		return err
	}
	w.noteBegin(c)
	if c.Turn.ID != "" {
		if err := w.insertTurn(ctx, c.Session, c.Turn); err != nil {
			return err
		}
	}
	if err := w.addAliases(ctx, c); err != nil {
		return err
	}
	if err := w.addMessages(ctx, c.Session, c.Messages); err != nil {
		return err
	}
	if err := w.acknowledge(ctx, c); err != nil {
		return err
	}
	if err := w.claim(ctx, c); err != nil {
		return err
	}
	return w.takeRemote(ctx, c)
}

const turnSent = `SELECT id FROM turn WHERE tenant = $1 AND session = $2 AND client_message = $3 AND client_message <> ''`

// unsent sees that no other turn of the session has the client's message. Other replicas wait for the session's lock meanwhile.
func (w *writer) unsent(ctx context.Context, c *mooring.Begin) error {
	if c.Turn.ClientMessage == "" || c.New {
		return nil
	}
	id := c.Turn.ID
	found, err := w.first(ctx, []any{&id}, turnSent, raw(c.Session.Tenant), c.Session.ID, text(c.Turn.ClientMessage))
	if err == nil && found && id != c.Turn.ID {
		c.Err = taken("This message has just been sent")
	}
	return err
}

// open makes or updates the session of a turn. Where c.Err is set nothing was written.
func (w *writer) open(ctx context.Context, c *mooring.Begin) error {
	if !c.New {
		return w.goOn(ctx, c)
	}
	if err := w.copyable(ctx, c); err != nil || c.Err != nil {
		return err
	}
	if err := w.takeName(ctx, c); err != nil || c.Err != nil {
		return err
	}
	fresh, err := w.insertSession(ctx, c)
	if err != nil {
		return err
	}
	if fresh {
		return w.copyMessages(ctx, c)
	}
	return w.continueSession(ctx, c) // the same change once more: its first commit did happen
}

// goOn begins a turn of a known session.
func (w *writer) goOn(ctx context.Context, c *mooring.Begin) error {
	for _, step := range []func(context.Context, *mooring.Begin) error{w.alone, w.resumable, w.continueSession, w.stillNamed} {
		if err := step(ctx, c); err != nil || c.Err != nil {
			return err
		}
	}
	if !c.Attach {
		return nil
	}
	return w.attach(ctx, c.Session)
}

const addAlias = `INSERT INTO alias (tenant, class, value, session) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

const aliasHolder = `SELECT session FROM alias WHERE tenant = $1 AND class = $2 AND value = $3`

// addAliases gives a session the aliases that nobody has.
func (w *writer) addAliases(ctx context.Context, c *mooring.Begin) error {
	for _, a := range c.Aliases {
		if err := w.later(ctx, addAlias, raw(c.Session.Tenant), text(a.Class), bytes(a.Value), c.Session.ID); err != nil {
			return err
		}
	}
	return nil
}

// addAlias gives the session that holds the alias afterwards.
func (w *writer) addAlias(ctx context.Context, s mooring.Session, a mooring.Alias) (mooring.SessionID, error) {
	added, err := w.exec(ctx, addAlias, raw(s.Tenant), text(a.Class), bytes(a.Value), s.ID)
	if err != nil || added > 0 {
		return s.ID, err
	}
	var holder mooring.SessionID
	_, err = w.first(ctx, []any{&holder}, aliasHolder, raw(s.Tenant), text(a.Class), bytes(a.Value))
	return holder, err
}

// takeName gives a new session the alias that decides whether it is the first.
func (w *writer) takeName(ctx context.Context, c *mooring.Begin) error {
	if c.Reset != nil {
		return w.reset(ctx, c)
	}
	if len(c.Aliases) == 0 {
		return nil
	}
	holder, err := w.addAlias(ctx, c.Session, c.Aliases[0])
	if err == nil && holder != c.Session.ID {
		c.Err = taken("Another request has just begun this session")
	}
	return err
}

const aliasElsewhere = `SELECT 1 FROM alias WHERE tenant = $1 AND class = $2 AND value = $3 AND session <> $4`

// stillNamed sees that another replica has not given the alias to another session meanwhile. The session is locked by now: who begins
// its chat anew has done so, or waits and finds this turn.
func (w *writer) stillNamed(ctx context.Context, c *mooring.Begin) error {
	if c.Named.Class == "" || w.dialect.Alone {
		return nil
	}
	return w.laterThen(ctx, func(others int) error {
		if others > 0 {
			return &refusal{c, taken("The chat has just begun anew")}
		}
		return nil
	}, aliasElsewhere, raw(c.Session.Tenant), text(c.Named.Class), bytes(c.Named.Value), c.Session.ID)
}

const insertSession = `INSERT INTO session (tenant, id, client_key, friendly_id, title, client, project, parent, root, relation,
	state, upstream, models, turns, side_only, cost_usd, unpriced, tip, tip_turn, created_at, updated_at, pinned, archived, named,
	traits, reset_of, cut, ack)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, 0, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)
	ON CONFLICT DO NOTHING`

const rootOf = `SELECT root FROM session WHERE tenant = $1 AND id = $2`

// insertSession gives false where the session is there already.
func (w *writer) insertSession(ctx context.Context, c *mooring.Begin) (bool, error) {
	s := c.Session
	parent, root := s.Parent, s.ID
	if parent != "" {
		found, err := w.first(ctx, []any{&root}, rootOf, raw(s.Tenant), parent)
		if err != nil {
			return false, err
		}
		if !found {
			parent = "" // deleted meanwhile, which detaches its children
		}
	}
	models, err := list(s.Models)
	if err != nil {
		return false, err
	}
	step := stepOf(c)
	added, err := w.exec(ctx, insertSession, raw(s.Tenant), s.ID, bytes(s.Key), text(s.FriendlyID), text(s.Title),
		text(s.Client), text(s.Project), parent, root, s.Relation, step.state, text(s.Upstream), models, step.turns, step.side,
		step.tip, step.turn, micros(s.CreatedAt), step.at, s.Pinned, s.Archived, text(strings.Join(s.Named, ",")), s.Traits, s.ResetOf, s.Cut, c.Ack)
	return added > 0, err
}

// step is what a beginning turn does to its session.
type step struct {
	state mooring.TurnState
	turns int
	side  bool
	tip   mooring.MessageID // empty: stays
	turn  mooring.TurnID    // empty: stays
	at    int64
}

func stepOf(c *mooring.Begin) step {
	t := c.Turn
	at := t.StartedAt
	if at.IsZero() {
		at = c.Session.UpdatedAt
	}
	switch {
	case t.ID == "":
		return step{state: c.Session.State, side: c.Session.SideOnly, tip: c.Session.Tip, at: micros(at)}
	case t.Kind == mooring.KindSide:
		return step{state: mooring.Running, side: true, at: micros(at)}
	}
	tip := t.Question
	if n := len(c.Messages); n > 0 {
		tip = c.Messages[n-1].ID
	}
	return step{state: mooring.Running, turns: 1, tip: tip, turn: t.ID, at: micros(at)}
}

// A side turn moves the state of a session only while that has nothing else.
// The time of the last activity is the end's to move: it is indexed, and moving it twice would cost as much as the turn.
const continueSession = `UPDATE session SET
	updated_at = CASE WHEN turns = 0 THEN $3 ELSE updated_at END,
	state = CASE WHEN $4 AND NOT side_only THEN state ELSE $5 END,
	side_only = side_only AND $4,
	turns = turns + CASE WHEN EXISTS (SELECT 1 FROM turn WHERE turn.tenant = $1 AND turn.id = $6) THEN 0 ELSE $7 END,
	tip = CASE WHEN $8 = '' THEN tip ELSE $8 END,
	tip_turn = CASE WHEN $9 = '' THEN tip_turn ELSE $9 END,
	upstream = CASE WHEN $10 = '' OR ($4 AND NOT side_only) THEN upstream ELSE $10 END,
	client = CASE WHEN client = '' THEN $11 ELSE client END,
	project = CASE WHEN project = '' THEN $12 ELSE project END,
	title = CASE WHEN title = '' THEN $13 ELSE title END,
	models = CASE WHEN $14 = '' THEN models ELSE $14 END,
	named = CASE WHEN $15 = '' THEN named ELSE $15 END,
	traits = COALESCE($16, traits)
	WHERE tenant = $1 AND id = $2`

func (w *writer) continueSession(ctx context.Context, c *mooring.Begin) error {
	s, step := c.Session, stepOf(c)
	models, err := list(s.Models)
	if err != nil {
		return err
	}
	query, args := continueSession, []any{
		raw(s.Tenant), s.ID, step.at, step.side, step.state, c.Turn.ID, step.turns, step.tip, step.turn, text(s.Upstream), text(s.Client),
		text(s.Project), text(s.Title), models, text(strings.Join(s.Named, ",")), s.Traits,
	}
	if c.Seen != nil {
		query, args = continueSession+unchanged, append(args, standing(c)...)
	}
	return w.laterThen(ctx, refuseNone(c, errNotThere), query, args...)
}

// errNotThere is why a session could not be gone on with, until notFound has looked.
var errNotThere = errors.New("no session that is as it was")

// notFound says why a session could not be gone on with.
func (w *writer) notFound(ctx context.Context, c *mooring.Begin) error {
	if c.Err = gone(); c.Seen == nil {
		return nil
	}
	there, err := w.there(ctx, c.Session.Tenant, c.Session.ID)
	if there {
		c.Err = taken("The session has just gone on elsewhere")
	}
	return err
}

// A session without parent is the root of its tree: a parent whose root it is stands below it.
const attachSession = `UPDATE session SET parent = $3, relation = $4, root = $5 WHERE tenant = $1 AND id = $2 AND parent = ''`

const attachBelow = `UPDATE session SET root = $3 WHERE tenant = $1 AND root = $2 AND root <> id`

// attach puts a session that began before its parent was known below it.
func (w *writer) attach(ctx context.Context, s mooring.Session) error {
	var root mooring.SessionID
	found, err := w.first(ctx, []any{&root}, rootOf, raw(s.Tenant), s.Parent)
	if err != nil || !found || root == s.ID || s.Parent == s.ID {
		return err
	}
	n, err := w.exec(ctx, attachSession, raw(s.Tenant), s.ID, s.Parent, s.Relation, root)
	if err != nil || n == 0 {
		return err
	}
	w.note(mooring.Event{Tenant: s.Tenant, Kind: mooring.SessionUpdated, Session: s.ID})
	return w.later(ctx, attachBelow, raw(s.Tenant), s.ID, root)
}

func gone() error {
	return mooring.Errorf(mooring.CodeSessionGone, "The session has been deleted.")
}

// The next attempt of a turn finds its row: it runs again, and keeps when it first began and what it has cost so far.
const insertTurn = `INSERT INTO turn (tenant, id, session, kind, protocol, model, api_key, stream, state, upstream, account, pin,
	identity, evidence, question, answer, view, attempts, unpriced, status, error_code, body_digest, replica, started_at,
	first_at, ended_at, client_message, retry_key)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, '', $16, $17, 0, 0, '', $18, $19, $20, 0, 0, $21, $22)
	ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, stream = excluded.stream, upstream = excluded.upstream,
	account = excluded.account, pin = excluded.pin, identity = excluded.identity, evidence = excluded.evidence,
	view = excluded.view, status = 0, error_code = '', replica = excluded.replica, first_at = 0, ended_at = 0, fence = '',
	retry_key = excluded.retry_key
	WHERE turn.session = excluded.session`

func (w *writer) insertTurn(ctx context.Context, s mooring.Session, t mooring.Turn) error {
	evidence, err := list(t.Evidence)
	if err != nil {
		return err
	}
	view, err := object(t.View)
	if err != nil {
		return err
	}
	attempts, err := list(t.Attempts)
	if err != nil {
		return err
	}
	return w.later(ctx, insertTurn, raw(s.Tenant), t.ID, s.ID, t.Kind, t.Protocol, text(t.Model), text(t.Key), t.Stream,
		mooring.Running, text(t.Upstream), text(t.Account), t.Pin, text(t.Identity), evidence, t.Question, view, attempts,
		t.BodyDigest, text(t.Replica), micros(t.StartedAt), text(t.ClientMessage), t.RetryKey)
}

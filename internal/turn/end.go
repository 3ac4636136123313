package turn

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/wire"
)

// rotated takes over the session id that an upstream with sessions of its own answered with; it is sent from the next turn on.
func (t *running) rotated(res *forward.Response) {
	if t.side() { // its id was for this request alone
		return
	}
	if id := res.SessionID(); t.remote != "" && id != "" && id != t.remote && safeRemote(id) {
		t.remote, t.moved = id, true
	}
}

// asRemote is the upstream's session id where it has to be written: rotated, or given by Mooring on a move.
func (t *running) asRemote() *mooring.RemoteSession {
	if t.remote == "" || !t.moved {
		return nil
	}
	return &mooring.RemoteSession{Tenant: t.turn.Tenant, Session: t.found.Known.ID, Server: t.target.Server(), ID: t.remote}
}

// bind keeps the pin before a stream's header goes out; where the pin is kept already there is nothing to write.
func (t *running) bind(ctx context.Context) error {
	remote := t.asRemote()
	if t.bound && remote == nil {
		return nil
	}
	c := &mooring.Bind{Pin: *t.asPin(), Remote: remote}
	if err := t.Record.Commit(context.WithoutCancel(ctx), c); err != nil {
		t.turn.State, t.turn.ErrorCode, t.turn.EndedAt = mooring.Failed, mooring.CodeOf(err), t.Now()
		t.owe(ctx, &mooring.End{Turn: t.turn, DropClaim: true}, err)
		return err
	}
	t.bound, t.moved, t.pin = true, false, &c.Pin
	t.Route.Keep(c.Pin)
	t.keepRemote(ctx, remote, c.Taken)
	return nil
}

// keepRemote remembers an id that the upstream gave. One that is another session's stays that session's: this one goes on under
// the id it had.
func (t *running) keepRemote(ctx context.Context, r *mooring.RemoteSession, taken bool) {
	switch {
	case r == nil:
	case taken:
		t.Log.LogAttrs(ctx, slog.LevelWarn, "the upstream answered with another session's id", slog.String("session", r.Session.Short()),
			slog.String("upstream", string(t.target.Name)))
	default:
		t.Route.KeepRemote(*r)
	}
}

// end writes down how the turn ended, with its answer, in one commit. It is written for a client that has gone, too.
func (t *running) end(ctx context.Context, out forward.Outcome, status int) error {
	asked := ctx
	ctx = context.WithoutCancel(ctx)
	t.turn.State, t.turn.ErrorCode, t.turn.EndedAt = out.State, out.Code, t.Now()
	if out.State != mooring.Cancelled || out.Code != "" {
		t.turn.Status = status
		if t.turn.FirstAt.IsZero() {
			t.turn.FirstAt = t.turn.EndedAt
		}
	}
	t.turn.CostUSD = t.cost()
	c := &mooring.End{}
	d, err := t.keepAnswer(c, out)
	if err != nil {
		t.Log.LogAttrs(ctx, slog.LevelWarn, "answer not kept", slog.String("session", t.found.Known.ID.Short()), slog.Any("err", err))
	}
	if answered(out, status) {
		c.Remote = t.asRemote()
		if !t.bound {
			c.Bind = t.asPin()
		}
	}
	c.Objects, c.Models = t.objects(out, status), t.models()
	c.DropClaim = !t.bound && c.Bind == nil
	c.Turn, t.ended = t.turn, true
	err = t.persist(asked, c)
	switch code := mooring.CodeOf(err); {
	case code == mooring.CodeTurnFenced, code == mooring.CodeTurnLost:
		return t.refusedEnd(ctx, c)
	case err != nil && code != mooring.CodeSessionGone:
		t.owe(ctx, c, err)
		return err
	}
	t.settled(ctx, c, d)
	return nil
}

// cost is what the turn's attempts cost. Counting tokens uses none: it is free, and its answer tells no usage.
func (t *running) cost() *float64 {
	if strings.HasSuffix(t.req.Path, "/count_tokens") {
		return new(float64)
	}
	return t.Price(&t.turn)
}

// objects are the ids by which the upstream knows what it answered, and by which the client may speak of it. The id of an answer
// that broke off has reached the client too.
func (t *running) objects(out forward.Outcome, status int) []mooring.Object {
	o := mooring.Object{Tenant: t.turn.Tenant, Session: t.turn.Session, Upstream: t.turn.Upstream, Account: t.turn.Account}
	var list []mooring.Object
	switch {
	case status/100 != 2:
		return nil
	case t.req.Protocol != mooring.Responses:
		if o.ID = out.Answer.Container; o.ID != "" {
			list = append(list, o)
		}
		return list
	}
	if id := out.Answer.ID; id != "" {
		response := o
		response.ID, response.Message = id, t.turn.Answer
		list = append(list, response)
	}
	if !answered(out, status) {
		return list
	}
	for _, f := range t.req.Wire.Fields {
		if f.Path == "conversation" && f.Value != "" {
			o.ID = f.Value
			list = append(list, o)
		}
	}
	return list
}

// models are those of the session where another model answered than its turn began with; nil where it did not.
func (t *running) models() []string {
	if t.turn.Model == t.started.Turn.Model {
		return nil
	}
	if t.found.New {
		return []string{t.turn.Model}
	}
	before := t.found.Known.Models
	if slices.Contains(before, t.turn.Model) {
		return before
	}
	return append(slices.Clone(before), t.turn.Model)
}

// keepMade remembers where the answer was made, where there is more than one place that the next turn could go to.
func (t *running) keepMade(answer *mooring.Message) {
	if answer != nil && (len(t.choices) > 1 || len(t.choices[0].Accounts) > 1) {
		t.Route.KeepMade(t.turn.Tenant, t.turn.Session, answer.ID, mooring.Spot{Upstream: t.target.Name, Account: t.target.account.Name, Model: t.target.model})
	}
}

// owe leaves the end of a turn that has begun to the writer, for when the store is back. What memory holds of the session may be
// behind the store then, so it is read again.
func (t *running) owe(ctx context.Context, c *mooring.End, err error) {
	if mooring.KindOf(err) != mooring.KindStore {
		return
	}
	t.leaveOwing(ctx, c)
}

func (t *running) leaveOwing(ctx context.Context, c *mooring.End) {
	t.Record.Owe(ctx, c)
	t.Memory.Forget(t.turn.Tenant, t.turn.Session, nil)
	t.Route.Forget(t.turn.Tenant, t.turn.Session)
}

// settled keeps in memory what the end made true.
func (t *running) settled(ctx context.Context, c *mooring.End, seen wire.Digest) {
	if c.Bind != nil {
		t.bound, t.pin = true, c.Bind
		t.Route.Keep(*c.Bind)
	}
	t.keepRemote(ctx, c.Remote, c.Taken)
	if c.DropClaim {
		t.Route.Forget(t.turn.Tenant, t.turn.Session)
	}
	if t.bound && t.pin != nil {
		t.Route.Used(*t.pin)
	}
	if !t.side() {
		var marks []mooring.Mark
		if c.Answer != nil {
			marks = c.Answer.Marks
		}
		t.Memory.Ended(&t.turn, seen, marks)
		t.keepMade(c.Answer)
	}
	if c.Models != nil {
		t.Memory.Forget(t.turn.Tenant, t.turn.Session, nil) // it knows the ones that the turn began with
	}
	if t.Observe != nil {
		ended := t.turn
		ended.Attempts = ended.Attempts[t.earlier:]
		t.Observe(&ended, t.req.Header)
	}
}

// keepAnswer adds what arrived of the answer, with the digests by which it is found again. It gives the digest of the
// conversation up to it, as its client sees it.
func (t *running) keepAnswer(c *mooring.End, out forward.Outcome) (wire.Digest, error) {
	if out.Answer.Message == nil || t.side() {
		return wire.Digest{}, nil
	}
	var last *wire.Message
	if n := len(t.view.messages); n > 0 {
		last = &t.view.messages[n-1]
	}
	a, err := t.Memory.Answer(t.turn.Tenant, t.req.Protocol, t.place, last, out.Answer.Message)
	if err != nil {
		return wire.Digest{}, err
	}
	id := t.NewID()
	c.Answer = &mooring.Message{
		Tenant: t.turn.Tenant, Session: t.turn.Session, ID: id, Parent: t.turn.Question, Turn: t.turn.ID, Role: "assistant", State: t.turn.State,
		Protocol: t.req.Protocol, Content: t.text(out.Answer.Message), Digest: a.Self[:], Seen: a.Seen[:], Marks: a.Marks, CreatedAt: t.turn.EndedAt,
	}
	t.turn.Answer = id
	return a.Seen, nil
}

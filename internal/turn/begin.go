package turn

import (
	"context"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// races is how often a turn may lose against others that make or delete its session at the same moment.
const races = 8

// begin writes the turn down in one commit. It waits for that commit unless the session has its pin at an upstream without
// state and the store is sure: then the commit runs beside the upstream call, and the response header waits for it. No
// upstream is asked for a turn that cannot be stored.
func (t *running) begin(ctx context.Context) error {
	id := t.turn.ID
	if id == "" {
		id = t.NewTurn()
	}
	t.turn = mooring.Turn{
		Tenant: t.req.Caller.Tenant, ID: id, Protocol: t.req.Protocol, Model: clip(t.req.Wire.Model), Key: t.req.Caller.Key, Stream: t.req.Wire.Stream,
		State: mooring.Running, Replica: t.Replica, StartedAt: t.Now(),
	}
	t.turn.BodyDigest, t.turn.ClientMessage, t.turn.RetryKey = t.digest, t.req.ClientMessage, t.retryKey()
	t.takeUp()
	if err := t.submit(ctx); err != nil {
		return err
	}
	if !t.own && t.pin != nil && t.started.Remote == nil && !t.target.Remote && t.Record.Sure() {
		return nil
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	t.tape.note(t.told())
	t.tape.writtenDown()
	return nil
}

// submit hands the turn's first commit to the writer.
func (t *running) submit(ctx context.Context) error {
	c, err := t.change(ctx)
	if err != nil {
		return err
	}
	t.occupy()
	t.tape.note(t.told())
	t.table.enter(t)
	if !t.found.New { // a new session is found by others once it is committed
		t.open()
	}
	t.started, t.pending = c, t.Record.Submit(ctx, c)
	return nil
}

// settle waits until the turn is written down. Where another turn made the session first, or it was deleted meanwhile, the
// request is identified anew: of two racing first requests one wins, and the other one takes its session.
func (t *running) settle(ctx context.Context) error {
	for tries := 0; tries < races; tries++ {
		err := t.committed(ctx)
		switch {
		case occupied(err):
			tries-- // to wait is to lose no race
			if t.broken = t.queueElsewhere(ctx); t.broken != nil {
				return t.broken
			}
		case !raced(err):
			t.unsure(ctx, err)
			t.broken = err
			return err
		case t.lines():
			tries--
		}
		if err = t.again(ctx); err != nil {
			return err
		}
		if err = t.submit(ctx); err != nil {
			return err
		}
	}
	return mooring.Errorf(mooring.CodeSessionBusy, "The session changes too fast; send the request again.")
}

// raced says that another turn made the session first, or that it was deleted.
func raced(err error) bool {
	code := mooring.CodeOf(err)
	return err != nil && (code == mooring.CodeSessionTaken || code == mooring.CodeSessionGone)
}

// again identifies anew after a lost race.
func (t *running) again(ctx context.Context) error {
	if err := t.Record.Settled(ctx, t.started); err != nil { // the winner may still be on its way into the store
		return err
	}
	t.Memory.Forget(t.turn.Tenant, t.found.Known.ID, t.found.Names)
	t.Route.Forget(t.turn.Tenant, t.found.Known.ID)
	t.forgetRemote()
	t.fresh = true
	resumed := t.resumed
	if err := t.look(ctx); err != nil { // it may have waited for long
		return err
	}
	if err := t.once(ctx); err != nil {
		return err
	}
	if resumed != nil && t.resumed == nil { // the chat went on elsewhere: it is a turn of its own there
		t.turn.ID, t.turn.Attempts, t.turn.Usage, t.earlier = t.NewTurn(), nil, mooring.Usage{}, 0
	}
	t.takeUp() // what failed elsewhere shows only now
	return t.admit(ctx)
}

// change puts together what the commit holds: session, aliases, turn, new messages, and the claim where there is no pin.
func (t *running) change(ctx context.Context) (*mooring.Begin, error) {
	now := t.turn.StartedAt
	s := &t.found.Known.Session
	if t.found.New {
		s.CreatedAt = now
	}
	s.UpdatedAt = now
	t.turn.Session, t.turn.Kind, t.turn.Identity, t.turn.Evidence, t.turn.View = s.ID, t.found.Kind, t.found.Identity, t.found.Evidence, t.place.View
	c := &mooring.Begin{New: t.found.New, Aliases: t.found.Aliases, Named: t.found.Named, Attach: t.found.Attach, Reset: t.found.Reset, Messages: t.messages()}
	t.turn.Question = t.place.Parent
	if n := len(c.Messages); n > 0 {
		t.turn.Question = c.Messages[n-1].ID
	}
	if err := t.choose(ctx, c); err != nil {
		return nil, err
	}
	c.Session, c.Turn = t.row(), t.turn
	t.sharing(c)
	return c, nil
}

// row is the session as the commit takes it: whole where it is new, else what the turn changes.
func (t *running) row() mooring.Session {
	s := t.found.Known.Session
	s.Upstream, s.Title = t.target.Name, t.title()
	if !t.found.New {
		s.Named, s.Traits = t.found.Signals, t.found.Traits
	}
	if !t.side() {
		s.State, s.Tip, s.TipTurn = mooring.Running, t.turn.Question, t.turn.ID
	}
	if t.found.New {
		s.Models = []string{t.turn.Model}
		return s
	}
	if slices.Contains(s.Models, t.turn.Model) {
		s.Models = nil
	} else {
		s.Models = append(slices.Clone(s.Models), t.turn.Model)
	}
	return s
}

// title is the session's first one, empty where it has messages already. A side request asks about a conversation and names none.
func (t *running) title() string {
	if t.Rules().NoTexts || t.side() || !t.found.New && t.found.Known.Tip != "" {
		return ""
	}
	if title := wire.UserText(t.view.messages); title != "" {
		return title
	}
	return t.shown()
}

// side says that the request asks about a conversation and is no part of it.
func (t *running) side() bool { return t.found.Kind == mooring.KindSide }

// shown is what a question without any text looks like: the first line that stands for its images and files.
func (t *running) shown() string {
	for _, m := range slices.Backward(t.view.messages) {
		if m.Role == "user" {
			_, text := wire.Render(t.req.Protocol, m.Raw)
			line, _, _ := strings.Cut(text, "\n")
			return clip(line)
		}
	}
	return ""
}

// messages are the request's new ones, each below the one before.
func (t *running) messages() []mooring.Message {
	out := make([]mooring.Message, 0, len(t.place.New))
	parent := t.place.Parent
	for _, at := range t.place.New {
		m := &t.view.messages[at]
		d := t.place.Digests[at]
		msg := mooring.Message{
			Tenant: t.turn.Tenant, Session: t.found.Known.ID, ID: t.NewID(), Parent: parent, Turn: t.turn.ID, Role: m.Role, State: mooring.Completed,
			Protocol: t.req.Protocol, Content: t.text(m.Raw), Digest: d[:], CreatedAt: t.turn.StartedAt,
		}
		if len(out) == 0 {
			msg.Marks = t.place.Opening
		}
		parent = msg.ID
		out = append(out, msg)
	}
	return out
}

// text is the content of a message as it is kept.
func (t *running) text(content []byte) []byte {
	if t.Rules().NoTexts {
		return nil
	}
	return content
}

// committed waits for the Begin and takes over what it decided.
func (t *running) committed(ctx context.Context) error {
	if t.pending == nil {
		return t.broken
	}
	pending := t.pending
	t.pending = nil
	if err := pending.Wait(context.WithoutCancel(ctx)); err != nil { // it reads the request's bytes, and ends soon
		t.giveUp(ctx, err)
		return err
	}
	t.remember(ctx)
	t.open()
	return nil
}

// giveUp ends a turn whose Begin the store did not answer for: it may stand there all the same, and while this process lives
// nobody else would end it. Where it does not, nothing is written.
func (t *running) giveUp(ctx context.Context, err error) {
	end := t.turn
	end.State, end.ErrorCode, end.EndedAt = mooring.Failed, mooring.CodeOf(err), t.Now()
	t.owe(ctx, &mooring.End{Turn: end, DropClaim: t.started.Claim != nil}, err)
}

// remember keeps in memory what the commit made true.
func (t *running) remember(ctx context.Context) {
	c := t.started
	s := t.found.Known
	if c.Claim != nil && c.Won != nil && !sameBerth(c.Won, c.Claim) {
		t.pin = c.Won
		t.aimAtWinner()
		t.Route.Forget(s.Tenant, s.ID) // it did not know of that one
	}
	if c.Remote != nil {
		t.remote = c.RemoteID
		t.Route.KeepRemote(mooring.RemoteSession{Tenant: s.Tenant, Session: s.ID, Server: c.Remote.Server, ID: c.RemoteID})
	}
	t.forgetFormer(ctx)
	switch {
	case t.found.New:
		k := identify.Known{Session: c.Session}
		t.Memory.Learn(k, t.found, t.found.Names)
		t.Route.ForgetNew(s.Tenant, s.ID)
	case t.side():
		t.joined(ctx)
	default:
		t.Memory.Learn(identify.Known{Session: t.grown(), Calls: t.found.Known.Calls}, t.found, t.found.Aliases)
	}
	t.teach(ctx)
}

// teach writes down what the turn shows of headers that may name sessions. Nothing waits for that.
func (t *running) teach(ctx context.Context) {
	if c := t.Memory.Observe(ctx, t.query(), t.found); c != nil {
		t.Record.Submit(context.WithoutCancel(ctx), c)
	}
}

// joined keeps what a side request added to its session, and leaves what memory has of the conversation as it stands by now:
// other turns may have begun or ended since the session was found.
func (t *running) joined(ctx context.Context) {
	s := t.found.Known
	k, err := t.Identify.Known(ctx, s.Tenant, s.ID)
	if err != nil {
		t.Memory.Forget(s.Tenant, s.ID, nil)
		return
	}
	if models := t.started.Session.Models; models != nil {
		k.Models = models
	}
	if t.found.Attach {
		k.Parent, k.Root, k.Relation = s.Parent, s.Root, s.Relation
	}
	t.Memory.Learn(k, t.found, t.found.Aliases)
}

// grown is the session after the commit, as memory keeps it.
func (t *running) grown() mooring.Session {
	s := t.found.Known.Session
	row := t.started.Session
	s.Upstream, s.State, s.Tip, s.TipTurn, s.UpdatedAt = row.Upstream, row.State, row.Tip, row.TipTurn, row.UpdatedAt
	if row.Models != nil {
		s.Models = row.Models
	}
	return s
}

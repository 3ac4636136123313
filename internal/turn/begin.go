package turn

import (
	"context"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/route"
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
	t.turn.BodyDigest, t.turn.ClientMessage = t.digest, t.req.ClientMessage
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
	for range races {
		err := t.committed(ctx)
		if !raced(err) {
			t.broken = err
			return err
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
	resumed := t.resumed
	if err := t.identify(ctx); err != nil {
		return err
	}
	if err := t.once(ctx); err != nil {
		return err
	}
	if resumed != nil && t.resumed == nil { // the chat went on elsewhere: it is a turn of its own there
		t.turn.ID, t.turn.Attempts, t.turn.Usage, t.earlier = t.NewTurn(), nil, mooring.Usage{}, 0
	}
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

// choose takes the session's pin, or the policy's choice as a claim, and the session id that the upstream is to get.
func (t *running) choose(ctx context.Context, c *mooring.Begin) error {
	s := t.found.Known.ID
	t.pin, t.skipped = nil, skipped{}
	if !t.found.New {
		pin, err := t.Route.Find(ctx, t.turn.Tenant, s, t.choices)
		if err != nil {
			return err
		}
		t.pin = pin
	}
	switch {
	case t.pin == nil && t.side():
		if err := t.aimAnew(ctx, ""); err != nil {
			return err
		}
		t.bound = true // there is nothing to keep
	case t.pin == nil:
		if err := t.aimAnew(ctx, mooring.PinNew); err != nil {
			return err
		}
		c.Claim, c.Stale = t.asPin(), t.Route.Stale()
		c.Claim.Bound = false
	default:
		t.aim(t.pin.Upstream, mooring.PinHit)
		t.bound = t.pin.Bound && !t.otherAccount() || t.side() // the claim is another turn's to keep or to drop
	}
	return t.chooseRemote(ctx, c)
}

// aim sets the target of the next attempt.
func (t *running) aim(name mooring.UpstreamName, mark mooring.PinMark) {
	i := slices.IndexFunc(t.choices, func(c route.Candidate) bool { return c.Name == name })
	u := t.candidates[i]
	account := route.AccountFor(string(t.found.Known.ID), t.choices[i])
	if t.pin != nil && t.pin.Upstream == name && u.HasAccount(t.pin.Account) {
		account = t.pin.Account
	}
	to := target{Upstream: u, account: u.Account(account), mark: mark}
	t.setTarget(to)
	if mark == mooring.PinHit && t.otherAccount() && t.pin.Account != "" {
		to.mark = mooring.PinMoved
		t.setTarget(to)
	}
}

// setTarget says where the turn goes, in the turn itself too.
func (t *running) setTarget(to target) {
	t.target = to
	t.turn.Upstream, t.turn.Account, t.turn.Pin = to.Name, to.account.Name, to.mark
}

func (t *running) asPin() *mooring.Pin {
	return &mooring.Pin{
		Tenant: t.turn.Tenant, Session: t.found.Known.ID, Set: route.SetKey(t.choices), Upstream: t.target.Name, Account: t.target.account.Name, Bound: true,
		Turn: t.turn.ID, UsedAt: t.Now(),
	}
}

// chooseRemote finds the session id for the upstream's session headers, or asks for one.
func (t *running) chooseRemote(ctx context.Context, c *mooring.Begin) error {
	t.remote = ""
	if len(t.target.SessionHeaders) == 0 {
		return nil
	}
	if t.side() && t.target.Remote { // the conversation there is not to hear of it
		t.remote = t.NewKey()
		return nil
	}
	s := &t.found.Known
	if !t.found.New {
		id, err := t.Route.Remote(ctx, t.turn.Tenant, s.ID, t.target.Server())
		if err != nil {
			return err
		}
		if id != "" {
			t.remote = id
			return nil
		}
	}
	c.Mint = t.NewKey()
	wanted := s.Key
	if s.Relation != mooring.RelationMain || !safeRemote(wanted) {
		wanted = c.Mint
	}
	c.Remote = &mooring.RemoteSession{Tenant: t.turn.Tenant, Session: s.ID, Server: t.target.Server(), ID: wanted}
	return nil
}

// safeRemote says whether an id reaches a server as it is: hermes-agent refuses path separators, two dots, a drive letter and
// more than 256 characters (gateway/platforms/api_server.py), and a header loses the white space around a value, which would
// make one id of two.
func safeRemote(id string) bool {
	drive := len(id) > 1 && id[1] == ':' && (id[0]|0x20 >= 'a' && id[0]|0x20 <= 'z')
	odd := strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' || r == '/' || r == '\\' })
	return id != "" && len(id) <= identify.MaxID && id == strings.TrimSpace(id) && !drive && !odd && !strings.Contains(id, "..")
}

// committed waits for the Begin and takes over what it decided.
func (t *running) committed(ctx context.Context) error {
	if t.pending == nil {
		return t.broken
	}
	pending := t.pending
	t.pending = nil
	if err := pending.Wait(context.WithoutCancel(ctx)); err != nil { // it reads the request's bytes, and ends soon
		return err
	}
	t.remember(ctx)
	t.open()
	return nil
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
	t.forgetFormer()
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

func sameBerth(a, b *mooring.Pin) bool { return a.Turn == b.Turn }

// aimAtWinner follows the claim of a turn of the same session that was faster.
func (t *running) aimAtWinner() {
	for _, c := range t.choices {
		if c.Name == t.pin.Upstream {
			t.aim(c.Name, mooring.PinHit)
			t.bound = t.pin.Bound || t.side()
		}
	}
}

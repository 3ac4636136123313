// Package turn is the product in one sentence: Runner.Run finds a request's session, admits it, writes down that it begins,
// asks an upstream, passes the answer on and writes down how it ended. It holds the table of running turns. It knows neither
// routes nor pages: those hand it a Request and give it a Sink, or start a turn that is the server's and follow it. Each of those
// has one goroutine, which Close waits for.
package turn

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/identify"
	"mooring/internal/record"
	"mooring/internal/route"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// Request is what a route hands over: decoded, its caller known.
type Request struct {
	Caller   mooring.Caller
	Protocol mooring.Protocol
	Method   string
	Path     string // as the upstream gets it
	Query    string
	Header   http.Header
	Body     forward.Body
	Wire     *wire.Request
	Kind     mooring.Kind // KindSide or KindCompaction where the route says so; empty where the request decides

	Under         *mooring.MessageID // the message of the session that the last one of the request answers, whatever the others say; empty at the root, nil: as they say
	ClientMessage string             // the sender's own id of what it sends: sent again in that session it is the same turn. Empty for none; for Start alone
	Ended         func()             // called once the turn has ended, or will not be; nil for nothing. For Start alone
}

// About is what a client is told of its turn in response headers.
type About struct {
	ClientID string
	Session  mooring.SessionID
	Turn     mooring.TurnID
	Kind     mooring.Kind
	Parent   mooring.SessionID // of a sub-agent; empty for others
	Identity string
	Upstream mooring.UpstreamName // empty where none was asked
	Pin      mooring.PinMark
}

// Head begins an answer.
type Head struct {
	Status int
	Header http.Header // the upstream's, filtered
	Length int         // bytes of the body; -1 for a stream
}

// Sink takes an answer. About may be called again as the turn goes on, always before Head; nothing else comes before Head.
type Sink interface {
	About(a About)
	Head(h Head) error
	Write(held, fresh []byte) error
	Trailer(h http.Header)
}

// Concurrency says what happens to a second turn of a session while one runs.
type Concurrency string

// The ways of CONTRACT section 2. The empty one is Queue where the upstream keeps the conversation, else Allow.
const (
	Allow  Concurrency = "allow"
	Queue  Concurrency = "queue"
	Reject Concurrency = "reject"
)

// Rules are what a reload may change.
type Rules struct {
	Concurrency Concurrency
	QueueDepth  int
	QueueWait   time.Duration
	FailoverOn  FailoverOn
	Returns     bool                // a session that had to move goes back to its first upstream when that is well again
	Inherit     bool                // a sub-agent starts where the session above it is
	Aliases     map[string][]string // names that stand for models, each with those to be asked for, the first one first
	Content     bool                // requests without ids are recognised by their messages
	Learn       bool                // headers may be learned to name sessions
	Commands    bool                // chats may begin anew with /new
	NoTexts     bool                // no text of a message is kept
}

// FailoverOn says which failures before the first byte let another upstream be asked.
type FailoverOn struct {
	Unreachable bool
	Any5xx      bool
	Statuses    []int
}

// Identifier finds sessions, and places in them.
type Identifier interface {
	Resolve(ctx context.Context, q identify.Request) (*identify.Finding, error)
	Locate(ctx context.Context, f *identify.Finding, q identify.Request) (*identify.Place, error)
	Before(ctx context.Context, f *identify.Finding, q identify.Request) (int, error)
	Reset(old *identify.Finding, q identify.Request) *identify.Finding
	Retried(f *identify.Finding, q identify.Request, question mooring.MessageID) (*identify.Place, error)
	Known(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (identify.Known, error)
}

// Memory is what is remembered of sessions, and the digests by which they are.
type Memory interface {
	Digester(t mooring.Tenant) *wire.Digester
	Learn(k identify.Known, f *identify.Finding, aliases []mooring.Alias)
	Ended(turn *mooring.Turn, seen wire.Digest, marks []mooring.Mark)
	Answer(t mooring.Tenant, p mooring.Protocol, place *identify.Place, prefill *wire.Message, answer []byte) (identify.Answer, error)
	Observe(ctx context.Context, q identify.Request, f *identify.Finding) *mooring.Learning
	Forget(t mooring.Tenant, id mooring.SessionID, aliases []mooring.Alias)
}

// Runner runs turns. All fields but Observe and Trace are required.
type Runner struct {
	Identify Identifier
	Memory   Memory
	Fleet    *upstream.Fleet
	Route    *route.Picker
	Forward  *forward.Engine
	Record   *record.Writer
	Turn     func(ctx context.Context, t mooring.Tenant, id mooring.TurnID) (mooring.Turn, error)
	Failed   func(ctx context.Context, t mooring.Tenant, body []byte, since time.Time) ([]mooring.Turn, error) // newest first
	Owners   func(ctx context.Context, t mooring.Tenant, object string) ([]mooring.Object, error)
	Sent     func(ctx context.Context, t mooring.Tenant, s mooring.SessionID, clientMessage string) (mooring.Turn, error)          // CodeNotFound where it was not
	Below    func(ctx context.Context, t mooring.Tenant, s mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error) // CodeNotFound where there is none such
	Rules    func() Rules
	Price    func(*mooring.Turn) *float64                               // what its attempts cost together; nil where that is unknown
	Observe  func(t *mooring.Turn, asked http.Header)                   // told of every turn that ended, with the attempts of this request alone, and its header
	Trace    func(id mooring.TurnID, attempt time.Time) (parent string) // the traceparent of an attempt that began then; nil where nobody traces
	Replica  string
	Now      func() time.Time
	NewTurn  func() mooring.TurnID
	NewID    func() mooring.MessageID
	NewKey   func() string // a fresh "api-" id
	Log      *slog.Logger
	Elsewhere

	lanes   lanes
	table   table
	tapes   tapes
	own     own
	retries sync.Map // ids of turns whose next attempt is under way
}

// Run is one turn from request to answer. An error means that nothing has been written to the sink; otherwise what happened
// is in the answer and in the record.
func (r *Runner) Run(ctx context.Context, req Request, sink Sink) error {
	t := r.running(req, sink)
	ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	return r.proceed(ctx, t)
}

func (r *Runner) running(req Request, sink Sink) *running {
	tape := r.newTape(req.Protocol, sink)
	return &running{Runner: r, req: req, sink: tape, tape: tape}
}

func (r *Runner) proceed(ctx context.Context, t *running) (err error) {
	defer func() { t.leave(err) }() //nolint:contextcheck // what it waits for outlives the request
	if t.own {
		defer t.survive(ctx)
		t.table.await(t)
	}
	if err = t.arrive(ctx); err != nil {
		if why := fenced(ctx); why != nil {
			return why
		}
		return err
	}
	switch {
	case t.view.bare && t.view.reset:
		return t.acknowledge(ctx)
	case t.req.Kind == mooring.KindSide && t.found.New && !t.found.Sent:
		return t.pass(ctx)
	}
	if err = t.begin(ctx); err != nil {
		return err
	}
	return t.answer(ctx)
}

// running is one turn on its way.
type running struct {
	*Runner
	req      Request
	sink     Sink // the tape
	tape     *tape
	own      bool // it belongs to the server
	cancel   context.CancelCauseFunc
	digest   []byte // keyed digest of the request's body
	view     view
	upward   upward  // the body as the upstream gets it
	listed   chat    // where the table of running turns has it; guarded by that
	unnamed  bool    // nameless, as the table has it; guarded by that
	numbered turnKey // as listed

	former   *identify.Finding // what the chat was on before it was reset; nil where it was not
	nameless bool              // no id of the request decides
	guarded  mooring.TurnID    // the turn whose next attempt only this request may be

	candidates []*upstream.Upstream
	choices    []route.Candidate
	found      *identify.Finding
	place      *identify.Place
	slots      []*slot
	gate       *slot // held until it stands in the table; nil for none

	turn    mooring.Turn
	pending *record.Pending // of the Begin that is under way; nil once it is committed
	started *mooring.Begin
	broken  error        // why the turn could not be written down
	pin     *mooring.Pin // that the session had, or has won
	remote  string       // session id for the upstream's session headers
	target  target
	skipped skipped
	resumed *mooring.Turn        // the turn that failed and whose next attempt it is; nil for none
	earlier int                  // how many attempts that turn had
	moved   bool                 // that id is not stored yet: the upstream gave it, or the turn moved there
	bound   bool                 // the pin is kept, or need not be
	sealed  *bool                // the request holds what only its maker can read; nil while that was not asked
	keptAt  mooring.UpstreamName // of what the request names by an id that only this upstream knows; empty for none
	wait    patience             // for an upstream that does not answer
	ended   bool                 // its end is on its way into the record
	fresh   bool                 // all that memory held of its session was just read
	before  int                  // how many turns of other replicas were before it
	until   time.Time            // how long it waits for turns of other replicas; zero while it does not
}

// target is where the next attempt goes.
type target struct {
	*upstream.Upstream
	account upstream.Account
	model   string // asked for in the place of an alias; empty where the client names the model itself
	mark    mooring.PinMark
	why     mooring.Why
}

// spot is where the next attempt goes, as the list of those that were asked has it.
func (t *target) spot() mooring.Spot { return mooring.Spot{Upstream: t.Name, Model: t.model} }

// arrive finds the candidates, the session and the place in its tree, and waits for its turn.
func (t *running) arrive(ctx context.Context) error {
	d := t.Memory.Digester(t.req.Caller.Tenant).Bytes(t.req.Body.Bytes())
	t.digest = d[:]
	if err := t.oneByOne(ctx); err != nil {
		return err
	}
	if err := t.look(ctx); err != nil {
		return err
	}
	if err := t.once(ctx); err != nil {
		return err
	}
	replaced, err := t.replace(ctx)
	if err != nil {
		return err
	}
	if replaced {
		if err := t.look(ctx); err != nil {
			return err
		}
	}
	return t.admit(ctx)
}

func (t *running) query() identify.Request {
	return t.asking(t.view)
}

func (t *running) asking(v view) identify.Request {
	rules := t.Rules()
	return identify.Request{
		Tenant: t.req.Caller.Tenant, Header: t.req.Header, Wire: t.req.Wire, Messages: v.messages, Skip: v.skip, Opening: v.opening,
		Kind: t.req.Kind, Content: rules.Content, Learn: rules.Learn, Key: t.req.Caller.Key,
	}
}

// identify finds the session, and the place in its tree. A command is read first: it says which messages still count.
func (t *running) identify(ctx context.Context) error {
	t.view, t.former, t.resumed = view{messages: t.req.Wire.Messages}, nil, nil
	if t.commands() {
		t.view = viewOf(t.req.Wire.Messages)
	}
	before := t.view
	if before.reset {
		before = viewOf(t.req.Wire.Messages[:len(t.req.Wire.Messages)-1])
	}
	var err error
	if t.found, err = t.Identify.Resolve(ctx, t.asking(before)); err != nil {
		return err
	}
	if t.nameless = nameless(t.found.Identity); t.guarded == "" {
		if err = t.resume(ctx); err != nil {
			return err
		}
	}
	switch {
	case t.view.reset && (t.resumed == nil || t.view.bare):
		t.anew()
	case !t.view.reset && t.commands():
		if t.view.skip, err = t.Identify.Before(ctx, t.found, t.query()); err != nil {
			return err
		}
	}
	t.upward = upward{} // the view may be another one
	return t.locate(ctx)
}

func (t *running) locate(ctx context.Context) (err error) {
	if t.resumed != nil {
		t.place, err = t.Identify.Retried(t.found, t.query(), t.resumed.Question)
		return err
	}
	q := t.query()
	if t.req.Under != nil && !t.view.reset { // a chat that begins anew has no such message
		q.Under = t.req.Under
		if q.Below, err = t.below(ctx, *q.Under); err != nil {
			return err
		}
	}
	t.place, err = t.Identify.Locate(ctx, t.found, q)
	return err
}

// below is what follows a message that the request names.
func (t *running) below(ctx context.Context, parent mooring.MessageID) ([]mooring.Message, error) {
	switch {
	case !t.found.New:
		return t.Below(ctx, t.req.Caller.Tenant, t.found.Known.ID, parent)
	case parent != "":
		return nil, mooring.Errorf(mooring.CodeNotFound, "The session has no such message; read its messages again.")
	}
	return nil, nil
}

// about tells the client what is known of its turn by now.
func (t *running) about() { t.sink.About(t.told()) }

func (t *running) told() About {
	s := &t.found.Known
	parent := s.Parent
	if s.Relation != mooring.RelationSubagent { // a fork is a conversation of its own; what it was copied from its session says
		parent = ""
	}
	return About{
		ClientID: t.found.ClientID, Session: s.ID, Turn: t.turn.ID, Kind: t.turn.Kind, Parent: parent, Identity: t.found.Identity,
		Upstream: t.turn.Upstream, Pin: t.turn.Pin,
	}
}

// Package peer lets the replicas that share a store speak to each other: one tells another that there is something to look at, and one
// that runs a turn sends what its client is sent to those elsewhere who follow it.
//
// Nothing that has to hold hangs on it. A message is a hint or a copy, and may be lost: what another replica wants of a turn stands in
// the store, and is looked for every second as well; who follows a turn asks again for what is missing, and reads in the store how it
// ended. It knows no bytes and no turns: it carries what its Options give it. Its goroutines are the listener, the one that looks and
// asks again, and one for each turn that others follow; Close waits for all.
package peer

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"sync"
	"time"

	"mooring"
)

// Bus carries texts between replicas; postgres.Bus is one. Texts may be lost.
type Bus interface {
	// Send hands a text to whoever listens under a name.
	Send(ctx context.Context, name, text string) error
	// Listen hands over what is sent under a name until it ends. From when ready is called on, nothing is missed but what the end takes.
	Listen(ctx context.Context, name string, ready func(), take func(text string)) error
}

// Source is a turn that runs here, or has ended a short while ago; turn.Live is one.
type Source interface {
	// Read gives what stands behind the first from bytes, and waits until there is something.
	Read(ctx context.Context, from int) (fresh []byte, ended bool, err error)
	// Facts is what is to be known of the turn besides its bytes, as it stands.
	Facts() []byte
	// Join says that somebody listens.
	Join() (leave func())
}

// Piece is a part of a turn's answer.
type Piece struct {
	At    int    // where it stands
	Data  []byte // may be empty
	Facts []byte // nil where they are as before
	Ended bool   // the turn has ended, and nothing comes behind this
}

// Options is what an Exchange is made of. All fields must be set.
type Options struct {
	Bus  Bus
	Name string                                                   // of this replica
	Look func(ctx context.Context) error                          // sees to what the store holds for this replica: called every second, and when another one says so
	Open func(t mooring.Tenant, id mooring.TurnID) (Source, bool) // false where no such turn is here
	Now  func() time.Time
	Log  *slog.Logger
}

// EndOnly is where a reader stands who wants to know of the end alone.
const EndOnly = math.MaxInt32

const (
	lookEvery = time.Second
	// lookTimeout is how long a look may take: the store may be down.
	lookTimeout = 5 * time.Second
	// sendTimeout is how long a message may take; what it is about is seen later without it.
	sendTimeout = 2 * time.Second
	// askEvery is how often who follows a turn says that he still does, and from where.
	askEvery = 2 * time.Second
	// heldFor is how long a turn is sent to somebody who no longer says so.
	heldFor = 10 * time.Second
	// backoff is how long the listener leaves a bus alone that failed, at first and at last.
	backoff    = 100 * time.Millisecond
	backoffMax = 3 * time.Second
	// mostServed is how many turns are sent to others at once; who comes when there are as many gets nothing, and reads the store.
	mostServed = 256
)

// Exchange speaks for one replica.
type Exchange struct {
	Options
	stop context.CancelFunc // set by Start
	wg   sync.WaitGroup
	wake chan struct{}

	mu        sync.Mutex // guards the fields below
	last      int        // number of the last following
	following map[int]*following
	serving   map[served]*serving
	closed    bool
}

// New makes an Exchange; Start begins its goroutines.
func New(o Options) *Exchange {
	return &Exchange{Options: o, wake: make(chan struct{}, 1), following: map[int]*following{}, serving: map[served]*serving{}}
}

// Start begins to listen and to look.
func (x *Exchange) Start() {
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	x.wg.Go(func() { x.listen(ctx) })
	x.wg.Go(func() { x.tend(ctx) })
}

// Close ends everything and waits.
func (x *Exchange) Close() {
	x.mu.Lock()
	x.closed = true
	for _, s := range x.serving {
		s.stop()
	}
	x.mu.Unlock()
	if x.stop != nil {
		x.stop()
	}
	x.wg.Wait()
}

// op is what a message is about.
type op string

const (
	opLook   op = "look"   // there is something for you in the store
	opFollow op = "follow" // send me what stands behind From of a turn, and what comes
	opLeave  op = "leave"  // no more of that
	opPiece  op = "piece"
)

// message is one text of the bus. Its names are short: pieces are to fit.
type message struct {
	Op     op              `json:"o"`
	Name   string          `json:"r,omitempty"` // of the replica that asks
	Number int             `json:"n,omitempty"` // of its following
	Tenant mooring.Tenant  `json:"t,omitempty"`
	Turn   mooring.TurnID  `json:"i,omitempty"`
	At     int             `json:"a,omitempty"`
	Data   []byte          `json:"d,omitempty"`
	Facts  json.RawMessage `json:"f,omitempty"`
	Ended  bool            `json:"e,omitempty"`
}

// send is best effort.
func (x *Exchange) send(ctx context.Context, to string, m *message) {
	text, err := json.Marshal(m)
	if err == nil {
		late, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		err = x.Bus.Send(late, channel(to), string(text))
	}
	if err != nil {
		x.Log.LogAttrs(ctx, slog.LevelDebug, "message to a replica not sent", slog.String("replica", to), slog.Any("err", err))
	}
}

// channel is the name under which a replica listens.
func channel(replica string) string { return "mooring_" + replica }

// Wake tells a replica that the store holds something for it.
func (x *Exchange) Wake(ctx context.Context, replica string) {
	x.send(ctx, replica, &message{Op: opLook})
}

// listen takes what comes, as long as there is a bus.
func (x *Exchange) listen(ctx context.Context) {
	pause, failed := backoff, false
	for {
		err := x.Bus.Listen(ctx, channel(x.Name), func() {
			pause, failed = backoff, false
			x.look() // what was said before is lost
		}, func(text string) { x.take(ctx, text) })
		if ctx.Err() != nil {
			return
		}
		if !failed {
			x.Log.LogAttrs(ctx, slog.LevelWarn, "replicas cannot be heard; the store is asked instead", slog.Any("err", err))
		}
		failed = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, backoffMax)
	}
}

func (x *Exchange) take(ctx context.Context, text string) {
	var m message
	if json.Unmarshal([]byte(text), &m) != nil {
		return // of another version, or nobody's here
	}
	switch m.Op {
	case opLook:
		x.look()
	case opFollow:
		x.serve(ctx, &m)
	case opLeave:
		x.unserve(served{m.Name, m.Number})
	case opPiece:
		x.hear(&m)
	}
}

// look has the store looked at soon.
func (x *Exchange) look() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// tend looks into the store, asks again for what is followed, and gives up those who no longer ask.
func (x *Exchange) tend(ctx context.Context) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		case <-ticks.C:
			x.expire()
			x.askAll(ctx)
		}
		err := x.lookOnce(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			x.Log.LogAttrs(ctx, slog.LevelWarn, "what other replicas want cannot be seen", slog.Any("err", err))
		}
		failed = err != nil
	}
}

func (x *Exchange) lookOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return x.Look(ctx)
}

// Package record is the turn log's one writer: whoever has a change to commit hands it over and waits for the commit.
//
// It groups what waits into one transaction and never waits for more to come. It decides nothing about a change and reads
// nothing. Its goroutines are the writer's loop and, where sessions are kept for a limited time, the sweeper's; Close waits
// for both.
package record

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
)

// Store commits changes; sqlstore.Store is one.
type Store interface {
	// Apply commits a batch whole or not at all. Calling it again with the same batch does no harm.
	Apply(ctx context.Context, batch []mooring.Change) error
	// Idle is called when nothing has been committed for a moment.
	Idle(ctx context.Context) error
}

const (
	defaultBatch = 128
	defaultQueue = 4096
	// commitTimeout is how long a commit may take before its callers hear that the store is down.
	commitTimeout = 10 * time.Second
	// idleAfter is how long nothing may have been committed before the store's upkeep.
	idleAfter = 200 * time.Millisecond
)

// Options say what to write to and how much at once.
type Options struct {
	Store     Store
	MaxBatch  int           // changes in one commit at most; 0 for 128
	Queue     int           // changes that may wait; 0 for 4096. Where it is full, Submit waits
	Retention time.Duration // idle time after which whole trees of sessions are removed; 0 keeps them
	Now       func() time.Time
	Log       *slog.Logger
}

// Writer commits changes in the order in which they came.
type Writer struct {
	options Options
	queue   chan *Pending
	turn    chan struct{} // holds one token: the right to commit
	waiting atomic.Int64  // changes in the queue or taken from it and not yet committed
	commits atomic.Int64
	dirty   atomic.Bool   // something was committed since the last upkeep
	wake    chan struct{} // tells the loop that dirty was set
	stop    chan struct{} // ends the sweeper
	loops   sync.WaitGroup

	mu     sync.RWMutex // held by senders to queue, so that it is closed when none sends
	closed bool
}

// New makes a writer that waits for Start.
func New(o Options) *Writer {
	if o.MaxBatch <= 0 {
		o.MaxBatch = defaultBatch
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	w := &Writer{
		options: o,
		queue:   make(chan *Pending, o.Queue),
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
	}
	w.turn <- struct{}{}
	return w
}

// Start begins to commit what is submitted, and to sweep where there is a retention.
func (w *Writer) Start() {
	w.loops.Go(w.loop)
	if w.options.Retention > 0 {
		w.loops.Go(w.sweep)
	}
}

// Close refuses new changes and returns when all that were accepted are committed or have failed.
func (w *Writer) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
		close(w.stop)
	}
	w.mu.Unlock()
	w.loops.Wait()
	<-w.turn // a caller that commits by itself has ended
	w.turn <- struct{}{}
}

// Pending is a change on its way into the store.
type Pending struct {
	change mooring.Change
	done   chan struct{}
	err    error // the commit's; set before done is closed
}

// Wait gives the commit's error, else the change's own outcome. Where ctx ends first the change may still be committed.
func (p *Pending) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	default:
		select {
		case <-p.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if p.err != nil {
		return p.err
	}
	return p.change.Outcome()
}

func (p *Pending) finish(err error) {
	p.err = err
	close(p.done)
}

// Submit queues a change. It waits only while the queue is full, until ctx ends.
func (w *Writer) Submit(ctx context.Context, c mooring.Change) *Pending {
	p := &Pending{change: c, done: make(chan struct{})}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		p.finish(shuttingDown())
		return p
	}
	w.waiting.Add(1)
	select {
	case w.queue <- p:
	case <-ctx.Done():
		w.waiting.Add(-1)
		p.finish(ctx.Err())
	}
	return p
}

// Commit submits a change and waits for it. Where nobody is ahead the caller commits it itself, which saves two hand-overs
// between goroutines.
func (w *Writer) Commit(ctx context.Context, c mooring.Change) error {
	if !w.alone() {
		return w.Submit(ctx, c).Wait(ctx)
	}
	p := &Pending{change: c, done: make(chan struct{})}
	w.apply(ctx, []*Pending{p})
	w.turn <- struct{}{}
	return p.Wait(ctx)
}

// alone takes the right to commit where nothing waits and the writer is open.
func (w *Writer) alone() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed || w.waiting.Load() != 0 {
		return false
	}
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

func shuttingDown() error {
	return mooring.Errorf(mooring.CodeShuttingDown, "the server is shutting down; try again")
}

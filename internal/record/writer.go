// Package record is the turn log's one writer: whoever has a change to commit hands it over and waits until it is safe.
//
// It groups what waits into one transaction and never waits for more to come before a caller hears. With a journal a change
// that nobody can lose a race for is safe once it stands there, and is moved into the store behind its caller. It decides
// nothing about a change and reads nothing. Ends of turns that a store which is down cannot take are kept for when it is back.
// Its goroutines are the writer's loop, the payer's of such ends and, where they are asked for, the sweeper's, the one that
// sums usage up and the one that says that this replica lives; Close waits for all.
package record

import (
	"context"
	"errors"
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
	// Applied gives the number in the last Applied change.
	Applied(ctx context.Context) (uint64, error)
	// Idle is called when nothing has been committed for a moment.
	Idle(ctx context.Context) error
	// Local says that the database is a file of this process, which no network can take away.
	Local() bool
	// AliasHits finds the sessions that aliases name.
	AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error)
	// Beat says that a replica lives, of several that share the store.
	Beat(ctx context.Context, replica string) (mooring.Pulse, error)
}

const (
	defaultBatch = 1024
	defaultQueue = 4096
	// commitTimeout is how long a commit may take before its callers hear that the store is down.
	commitTimeout = 10 * time.Second
	// idleAfter is how long nothing may have been committed before the store's upkeep.
	idleAfter = 200 * time.Millisecond
)

// Options say what to write to and how much at once.
type Options struct {
	Store     Store
	Journal   string                                       // the store's file, beside which the journal stands; empty for none, where replicas have to see each other's turns
	Straight  bool                                         // nothing goes by way of the journal, since a flush costs the same wherever it happens; what was left in it is moved
	MaxBatch  int                                          // changes in one commit at most; 0 for 1024
	Queue     int                                          // changes that may wait; 0 for 4096. Where it is full, Submit waits
	Retention time.Duration                                // idle time after which whole trees of sessions are removed; 0 keeps them
	Forget    func(t mooring.Tenant, id mooring.SessionID) // drops what memory has of a session that was removed so; nil where there is none
	SumUp     bool                                         // sums of usage are kept behind the turns
	Replica   string                                       // name of this process among those that share the store; it says that it lives where it is set
	Alive     func(replicas int)                           // told with each heartbeat how many processes share the store, this one included; nil for nothing
	Lapsed    func()                                       // told that this replica could not say so for so long that others may have given up its turns; nil where nobody asks
	Now       func() time.Time
	Log       *slog.Logger
}

// Writer commits changes in the order in which they came.
type Writer struct {
	options Options
	queue   chan *Pending
	room    chan struct{} // holds one token for each change in the queue, so that a send to it never waits
	turn    chan struct{} // holds one token: the right to commit
	waiting atomic.Int64  // changes that were accepted and are not in the store yet
	ahead   atomic.Int64  // bytes of those of them that are in the journal
	commits atomic.Int64
	dirty   atomic.Bool   // something was committed since the last upkeep
	failing atomic.Bool   // the last commit failed
	wake    chan struct{} // tells the loop that dirty was set
	stop    chan struct{} // ends the sweeper, the heartbeat and the payer
	owed    owed
	gone    gone
	beaten  atomic.Int64 // when the last beat reached the store; 0 where there are none
	since   time.Time    // since when the store has heard of this replica without a gap; the beats'
	wiping  atomic.Bool  // something was deleted, and what is left of it is to be wiped
	waited  int          // how often that was put off; the loop's
	loops   sync.WaitGroup
	moved   atomic.Uint64 // number of the last frame of the journal that the store has
	retry   []*Pending    // safe in the journal, and the store would not take them; whoever holds the right to commit has it
	refusal error         // why it would not; as retry

	mu     sync.RWMutex // held by senders to queue, so that it is closed when none sends
	closed bool

	order   sync.Mutex // guards what the journal points to; held over the send, so that journal and queue have one order
	journal *journal   // nil for none; set by Start and Close
	scrubTo uint64     // number of the last frame that is to be out of the journal; 0 for none
	frames  sync.Pool  // *bytes.Buffer, for what is encoded for the journal

	naming sync.Mutex    // guards what follows
	names  map[name]int  // aliases on their way into the store, and in how many changes
	freed  chan struct{} // closed when one of them is not any more; nil while nobody waits for that
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
		room:    make(chan struct{}, o.Queue),
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		owed:    owed{wake: make(chan struct{}, 1)},
		names:   map[name]int{},
	}
	w.turn <- struct{}{}
	return w
}

// Start moves into the store what a dead process left in the journal, then begins to commit what is submitted, to sweep where
// there is a retention, and to say that the replica lives.
func (w *Writer) Start(ctx context.Context) error {
	if w.options.Journal != "" {
		if err := w.openJournal(ctx); err != nil {
			return err
		}
	}
	if w.options.Straight {
		w.closeJournal(ctx)
		w.options.Journal = ""
	}
	if w.options.Replica != "" {
		if err := w.hello(ctx); err != nil {
			return err
		}
	}
	w.loops.Go(w.loop)
	w.loops.Go(w.pay)
	if w.options.SumUp {
		w.loops.Go(w.sum)
	}
	if w.options.Retention > 0 {
		w.loops.Go(w.sweep)
	}
	if w.options.Replica != "" && !w.options.Store.Local() {
		w.loops.Go(w.beat)
	}
	return nil
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
	w.closeJournal(context.Background())
}

func (w *Writer) closeJournal(ctx context.Context) {
	w.order.Lock()
	defer w.order.Unlock()
	if w.journal == nil {
		return
	}
	if err := errors.Join(w.journal.applied(w.moved.Load(), 0), w.journal.close()); err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "journal not closed", slog.Any("err", err))
	}
	w.journal = nil
}

// Pending is a change on its way into the store.
type Pending struct {
	change mooring.Change // nil for one that only marks a place in the queue
	done   chan struct{}
	err    error  // the commit's; set before done is closed
	seq    uint64 // of its frame in the journal; 0 where its caller waits for the store
	size   int    // of its frame in the journal
	named  bool   // its aliases are noted
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
	if p.err != nil || p.change == nil {
		return p.err
	}
	return p.change.Outcome()
}

// finish tells the caller; one that the journal has told already hears nothing.
func (p *Pending) finish(err error) {
	if p.seq > 0 {
		return
	}
	p.err = err
	close(p.done)
}

// Submit hands a change over. It waits only while the queue is full, until ctx ends.
func (w *Writer) Submit(ctx context.Context, c mooring.Change) *Pending {
	p := &Pending{change: c, done: make(chan struct{})}
	if d, ok := c.(*mooring.Delete); ok {
		w.gone.add(d.Tenant, d.Session)
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		p.finish(shuttingDown())
		return p
	}
	select {
	case w.room <- struct{}{}:
	default:
		select {
		case w.room <- struct{}{}:
		case <-ctx.Done():
			p.finish(ctx.Err())
			return p
		}
	}
	if err := w.enqueue(ctx, p); err != nil {
		<-w.room
		p.finish(err)
	}
	return p
}

// Commit submits a change and waits for it. Where nobody is ahead the caller commits it itself, which saves two hand-overs
// between goroutines.
func (w *Writer) Commit(ctx context.Context, c mooring.Change) error {
	if w.handed(c) || !w.alone() {
		return w.Submit(ctx, c).Wait(ctx)
	}
	if d, ok := c.(*mooring.Delete); ok {
		w.gone.add(d.Tenant, d.Session)
	}
	p := &Pending{change: c, done: make(chan struct{})}
	w.apply(ctx, []*Pending{p})
	w.turn <- struct{}{}
	return p.Wait(ctx)
}

// Sync waits until everything that was safe before it is in the store, so that a read that follows sees it.
func (w *Writer) Sync(ctx context.Context) error {
	if w.waiting.Load() == 0 {
		return nil
	}
	return w.Submit(ctx, nil).Wait(ctx)
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

// Sure says whether a commit under way can be counted on, so that work may begin beside it: the database is this process's own
// file and took the last commit. Where it is not sure, that the store is down shows only when the commit fails.
func (w *Writer) Sure() bool { return w.options.Store.Local() && !w.failing.Load() }

func shuttingDown() error {
	return mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down; try again.")
}

// Package search finds messages and sessions by their words. It keeps an index behind the turn log: what a commit has noted as new
// is read again, cut into words and handed to the log's one writer, some at a time, never in a turn's own commit.
//
// It never says who may search: it is asked for one tenant, and everything it reads is that tenant's. Its goroutine is the
// indexer; Close waits for it.
package search

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mooring"
)

// Queue is what the indexer reads; sqlstore.Store is one.
type Queue interface {
	Backlog(ctx context.Context) (mooring.Backlog, error)
	Unindexed(ctx context.Context, upTo int64, limit int) ([]mooring.Unindexed, error)
}

// Shelf is what a search reads.
type Shelf interface {
	// Content gives a message's content and its language, nothing where there is no such message.
	Content(ctx context.Context, t mooring.Tenant, id mooring.MessageID) (mooring.Message, error)
	// Found gives the messages that the index has under all terms, newest first, below a place.
	Found(ctx context.Context, t mooring.Tenant, terms []mooring.SearchTerm, below int64, limit int) ([]mooring.Found, error)
	// Recent hands over the newest messages until visit gives false.
	Recent(ctx context.Context, t mooring.Tenant, p mooring.RecentPage, visit func(mooring.Found) bool) error
	// Names hands over ids, keys and titles of sessions, newest activity first, until visit gives false.
	Names(ctx context.Context, t mooring.Tenant, limit int, visit func(mooring.Session) bool) error
}

// Store is the turn log.
type Store interface {
	Queue
	Shelf
}

// Log is the turn log's one writer.
type Log interface {
	Commit(ctx context.Context, c mooring.Change) error
	// Sync waits until what was acknowledged before can be read.
	Sync(ctx context.Context) error
}

// Options say where messages are and how they are read. All fields must be set.
type Options struct {
	Store  Store
	Log    Log
	Render func(p mooring.Protocol, content []byte) string // the text that a person reads in a message
	Now    func() time.Time
	Logger *slog.Logger
}

const (
	// gatherFor is how long the indexer lets messages come together after the first one.
	gatherFor = 900 * time.Millisecond
	// lookEvery is how often it looks at the queue without being told: for what another replica or a failure left there.
	lookEvery = time.Second
	// batchEntries and batchBytes bound a commit, which the commits of turns may have to wait for: some milliseconds.
	batchEntries = 128
	batchBytes   = 64 << 10
	// turnsShare is how much longer than a commit the writer is left to the turns, unless somebody waits for the index.
	turnsShare = 2
	// takenPause is what another replica gets that is putting in the same messages.
	takenPause = 20 * time.Millisecond
	// wipePages is how much of the index one step rewrites, a megabyte in some milliseconds.
	wipePages = 256
	// wipeRest is how much longer than a rewriting of the index the time until the next one is.
	wipeRest = 20
)

// Index is the index of messages.
type Index struct {
	options Options
	wake    chan struct{} // something was committed
	hurry   chan struct{} // somebody waits for the index
	stop    context.CancelFunc
	loops   sync.WaitGroup

	failing bool      // the last pass failed; the loop's own
	wipeAt  time.Time // when the index may be rewritten again; the loop's own

	mu      sync.Mutex // guards the fields below
	waiting []chan bool
	closed  bool
}

// New makes an index that waits for Start.
func New(o Options) *Index {
	return &Index{options: o, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: func() {}}
}

// Start begins to index, what was left first.
func (x *Index) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	x.stop = cancel
	x.loops.Go(func() { x.loop(ctx) })
}

// Close ends the indexer and waits for it. What is not indexed yet will be after the next start.
func (x *Index) Close() {
	x.stop()
	x.loops.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	answer(x.waiting, false)
	x.waiting = nil
}

// Wake says that there may be something new. It never waits.
func (x *Index) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// current waits until everything is indexed that was committed before it; false where the context ends before.
func (x *Index) current(ctx context.Context) bool {
	done := make(chan bool, 1)
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return false
	}
	x.waiting = append(x.waiting, done)
	x.mu.Unlock()
	select {
	case x.hurry <- struct{}{}:
	default:
	}
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

func answer(waiting []chan bool, ok bool) {
	for _, done := range waiting {
		done <- ok
	}
}

func (x *Index) loop(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		x.passes(ctx)
		select {
		case <-ctx.Done():
			return
		case <-x.hurry:
		case <-look.C:
		case <-x.wake:
			x.rest(ctx, gatherFor)
		}
	}
}

// rest waits, unless somebody waits for the index.
func (x *Index) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-x.hurry:
	}
}

// passes makes one pass, and more while somebody came to wait during it.
func (x *Index) passes(ctx context.Context) {
	for {
		x.mu.Lock()
		waiting := x.waiting
		x.waiting = nil
		x.mu.Unlock()
		err := x.pass(ctx, len(waiting))
		answer(waiting, err == nil)
		x.report(ctx, err)
		x.mu.Lock()
		more := len(x.waiting) > 0
		x.mu.Unlock()
		if !more || ctx.Err() != nil {
			return
		}
	}
}

// report logs the first of several failures in a row.
func (x *Index) report(ctx context.Context, err error) {
	if err != nil && !x.failing && ctx.Err() == nil && mooring.CodeOf(err) != mooring.CodeShuttingDown {
		x.options.Logger.LogAttrs(ctx, slog.LevelWarn, "search index is behind", slog.Any("err", err))
	}
	x.failing = err != nil
}

// pass indexes what is in the queue now, and no more: what comes meanwhile is the next one's.
func (x *Index) pass(ctx context.Context, waiting int) error {
	b, err := x.options.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	for b.Last > 0 {
		began := x.options.Now()
		list, err := x.options.Store.Unindexed(ctx, b.Last, batchEntries)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		taken, err := x.put(ctx, list)
		switch {
		case err != nil:
			return err
		case taken == 0:
			x.rest(ctx, takenPause)
		case waiting == 0 && !x.wanted():
			x.rest(ctx, turnsShare*x.options.Now().Sub(began))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if b.Deleted > b.Wiped && waiting == 0 {
		return x.wipeStep(ctx, b.Deleted)
	}
	return nil
}

// put hands messages to the writer, in commits of a bounded size; it gives how many left the queue.
func (x *Index) put(ctx context.Context, list []mooring.Unindexed) (int, error) {
	taken := 0
	c := &mooring.Index{}
	size := 0
	for i, u := range list {
		entry, err := x.entry(ctx, u)
		if err != nil {
			return taken, err
		}
		c.Entries = append(c.Entries, entry)
		if size += len(entry.Terms); size < batchBytes && i+1 < len(list) {
			continue
		}
		n, err := x.commit(ctx, c)
		if taken += n; err != nil {
			return taken, err
		}
		c, size = &mooring.Index{}, 0
	}
	return taken, nil
}

// entry reads a message and gives its words. Of a side request nothing is found.
func (x *Index) entry(ctx context.Context, u mooring.Unindexed) (mooring.IndexEntry, error) {
	entry := mooring.IndexEntry{Unindexed: u}
	if u.Kind == mooring.KindSide {
		return entry, nil
	}
	m, err := x.options.Store.Content(ctx, u.Tenant, u.Message)
	if err != nil {
		return entry, err
	}
	entry.Terms = terms(u.Tenant, fold(clip(x.options.Render(m.Protocol, m.Content))))
	return entry, nil
}

// commit puts entries in. Where the store refuses them for one of them, that one is left out: nothing behind it should wait
// for ever.
func (x *Index) commit(ctx context.Context, c *mooring.Index) (int, error) {
	err := x.options.Log.Commit(ctx, c)
	if err == nil || mooring.KindOf(err) == mooring.KindStore || ctx.Err() != nil {
		return c.Taken, err
	}
	taken := 0
	for _, entry := range c.Entries {
		one := &mooring.Index{Entries: []mooring.IndexEntry{entry}}
		err := x.options.Log.Commit(ctx, one)
		if err != nil && mooring.KindOf(err) != mooring.KindStore {
			x.options.Logger.LogAttrs(ctx, slog.LevelError, "message left out of the search index", slog.String("message", string(entry.Message)), slog.Any("err", err))
			one.Entries[0].Terms = ""
			err = x.options.Log.Commit(ctx, one)
		}
		if taken += one.Taken; err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// wipeStep takes the words of deleted sessions out of the file, step by step, as long as nobody waits.
func (x *Index) wipeStep(ctx context.Context, upTo int64) error {
	began := x.options.Now()
	if began.Before(x.wipeAt) {
		return nil
	}
	for {
		c := &mooring.Compact{Pages: wipePages, UpTo: upTo}
		step := x.options.Now()
		if err := x.options.Log.Commit(ctx, c); err != nil {
			return err
		}
		now := x.options.Now()
		if c.Wiped {
			x.wipeAt = now.Add(wipeRest * now.Sub(began))
			return nil
		}
		x.rest(ctx, now.Sub(step))
		if ctx.Err() != nil || x.wanted() {
			return ctx.Err() // the next pass goes on
		}
	}
}

func (x *Index) wanted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.waiting) > 0
}

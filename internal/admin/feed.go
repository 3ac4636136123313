package admin

import (
	"context"
	"log/slog"
	"sort"
	"sync"
	"time"

	"mooring"
)

const (
	// page is how many events are read at once.
	page = 256
	// held is how many of the newest events a feed keeps for its listeners.
	held = 512
)

// feed holds a tenant's newest events for all who listen, so that one read serves them all.
type feed struct {
	tenant    mooring.Tenant
	listeners int           // guarded by Hub.mu
	wake      chan struct{} // has one token: something was committed here
	stop      context.CancelFunc
	ended     chan struct{} // closed by run

	mu     sync.Mutex // guards the fields below
	from   int64      // the feed holds all that follows this number...
	to     int64      // ...up to this one
	recent []mooring.Event
	more   chan struct{} // closed when there is more
}

func newFeed(t mooring.Tenant, newest int64) *feed {
	return &feed{
		tenant: t, wake: make(chan struct{}, 1), ended: make(chan struct{}), from: newest, to: newest, more: make(chan struct{}),
	}
}

// look asks the feed to read what is new.
func (f *feed) look() {
	select {
	case f.wake <- struct{}{}:
	default: // it is about to
	}
}

// run reads what is new when it is asked to, and from time to time, since other processes do not ask.
func (f *feed) run(ctx context.Context, o HubOptions) {
	defer close(f.ended)
	poll := time.NewTicker(o.Poll)
	defer poll.Stop()
	for {
		if err := f.read(ctx, o); err != nil && ctx.Err() == nil {
			o.Log.LogAttrs(ctx, slog.LevelDebug, "events not read", slog.Any("err", err)) // the next look tries again
		}
		select {
		case <-f.wake:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

func (f *feed) read(ctx context.Context, o HubOptions) error {
	for {
		fresh, err := o.After(ctx, f.tenant, f.to, page) // run alone moves to
		if err != nil {
			return err
		}
		f.add(fresh)
		if len(fresh) < page {
			return nil
		}
	}
}

// add takes in what follows. Where numbers are left out before it, whoever is not behind that finds out in the store whether they were
// dropped or are those of sessions deleted since. Within what was read in one go they can only be the latter.
func (f *feed) add(fresh []mooring.Event) {
	if len(fresh) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := fresh[0].Number - 1; before != f.to {
		f.from, f.recent = before, nil
	}
	f.recent = append(f.recent, fresh...)
	if over := len(f.recent) - held; over > 0 {
		f.from, f.recent = f.recent[over-1].Number, f.recent[over:]
	}
	f.to = fresh[len(fresh)-1].Number
	close(f.more)
	f.more = make(chan struct{})
}

// after gives what follows a number, and a channel that is closed when there is more. whole is false where the feed no longer holds
// all of it. The events are not to be changed.
func (f *feed) after(number int64) (events []mooring.Event, more <-chan struct{}, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if number < f.from {
		return nil, f.more, false
	}
	i := sort.Search(len(f.recent), func(i int) bool { return f.recent[i].Number > number })
	return f.recent[i:len(f.recent):len(f.recent)], f.more, true
}

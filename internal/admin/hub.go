package admin

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"mooring"
)

// HubOptions is what live events come from. All fields must be set.
type HubOptions struct {
	After   func(ctx context.Context, t mooring.Tenant, number int64, limit int) ([]mooring.Event, error) // a tenant's events that follow a number
	Numbers func(ctx context.Context, t mooring.Tenant) (dropped, newest int64, err error)                // how far back they are kept, and how far they go
	Poll    time.Duration                                                                                 // how soon the changes of other processes are seen
	Log     *slog.Logger
}

// Hub tells those who listen what happens to their tenant's sessions. Everything it tells stands in the store: a listener that is slow,
// or was away, reads there what the hub no longer holds. It has one goroutine for each tenant that somebody listens to.
type Hub struct {
	o     HubOptions
	mu    sync.Mutex // guards feeds, and listeners of each
	feeds map[mooring.Tenant]*feed
}

// NewHub makes a hub that nobody listens to: it does nothing yet.
func NewHub(o HubOptions) *Hub { return &Hub{o: o, feeds: map[mooring.Tenant]*feed{}} }

// Changed is to be called when this process has committed changes: those who listen hear of them at once.
func (h *Hub) Changed(batch []mooring.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.feeds) == 0 {
		return
	}
	for _, change := range batch {
		tenant, known := tenantOf(change)
		if !known {
			for _, f := range h.feeds {
				f.look()
			}
			return
		}
		if f := h.feeds[tenant]; f != nil {
			f.look()
		}
	}
}

// Listeners counts those who listen.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, f := range h.feeds {
		n += f.listeners
	}
	return n
}

// tenantOf says whose sessions a change concerns; not known are those of several tenants.
func tenantOf(change mooring.Change) (t mooring.Tenant, known bool) {
	switch c := change.(type) {
	case *mooring.Begin:
		return c.Session.Tenant, true
	case *mooring.End:
		return c.Turn.Tenant, true
	case *mooring.Patch:
		return c.Tenant, true
	case *mooring.Delete:
		return c.Tenant, true
	case *mooring.Fence:
		return c.Tenant, true
	case *mooring.Prune, *mooring.Retire:
		return "", false
	}
	return "", true // of nobody's interest
}

// listener reads one tenant's events, in order, from a number on.
type listener struct {
	hub  *Hub
	feed *feed
	at   int64         // the last number it was given
	lost bool          // it has to read everything anew, and has not been told
	now  chan struct{} // closed: there is more at once
}

// listen begins to listen behind the event that a client names, or where it names none, or one that is too old or was never there,
// behind the newest. leave must be called in the end.
func (h *Hub) listen(ctx context.Context, t mooring.Tenant, last string) (*listener, error) {
	dropped, newest, err := h.o.Numbers(ctx, t)
	if err != nil {
		return nil, err
	}
	l := &listener{hub: h, at: newest, now: make(chan struct{})}
	close(l.now)
	if last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if l.lost = err != nil || n < dropped || n > newest; !l.lost {
			l.at = n
		}
	}
	l.feed = h.join(t, newest) //nolint:contextcheck // a feed lives as long as any of its listeners
	return l, nil
}

// join gives the tenant's feed one listener more; where it has none it begins behind a number.
func (h *Hub) join(t mooring.Tenant, newest int64) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[t]
	if f == nil {
		f = newFeed(t, newest)
		h.feeds[t] = f
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		go f.run(ctx, h.o)
	}
	f.listeners++
	return f
}

// leave ends the listening, and waits for the feed to end where it was the last one.
func (l *listener) leave() {
	l.hub.mu.Lock()
	l.feed.listeners--
	last := l.feed.listeners == 0
	if last {
		delete(l.hub.feeds, l.feed.tenant)
	}
	l.hub.mu.Unlock()
	if last {
		l.feed.stop()
		<-l.feed.ended
	}
}

// next gives what follows, if there is anything by now, and a channel that is closed when there is more. Where l.lost is set it gives
// nothing: the listener goes on behind the newest event.
func (l *listener) next(ctx context.Context) (events []mooring.Event, more <-chan struct{}) {
	events, more, whole := l.feed.after(l.at)
	if !whole {
		var err error
		if events, err = l.missed(ctx); err != nil && ctx.Err() == nil {
			l.hub.o.Log.LogAttrs(ctx, slog.LevelDebug, "events not read", slog.Any("err", err)) // the next look tries again
		}
	}
	if n := len(events); n > 0 {
		l.at = events[n-1].Number
	}
	if !whole && (len(events) > 0 || l.lost) {
		more = l.now
	}
	return events, more
}

// missed reads from the store what the feed no longer holds.
func (l *listener) missed(ctx context.Context) ([]mooring.Event, error) {
	events, err := l.hub.o.After(ctx, l.feed.tenant, l.at, page)
	if err != nil || (len(events) > 0 && events[0].Number == l.at+1) {
		return events, err
	}
	dropped, newest, err := l.hub.o.Numbers(ctx, l.feed.tenant) // after the events: what was dropped before they were read shows here
	if err != nil {
		return nil, err
	}
	if l.at >= dropped {
		return events, nil // but for those of sessions deleted since
	}
	l.at, l.lost = newest, true
	return nil, nil
}

// Package edge is the tenants' front door: one public host before one chat web UI per tenant. It learns who somebody is from one
// trusted source, finds the slot that is theirs for good, and lets a request through as one that it has built itself; what
// comes back is bounded, and pages keep their place by a script. It knows nothing of turns and sessions.
//
// Goroutines: those of its HTTP server, and one that follows what other processes do to claims and logins; Close waits for all.
package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"mooring"
)

// Slot is one tenant's web UI.
type Slot struct {
	Name mooring.SlotName
	URL  string // scheme, host and port
}

// Settings are what the configuration says; Slots alone change while the edge runs.
type Settings struct {
	Host           string // any other is refused
	Origin         string // of the public host, as in https://chat.example.org
	Plain          bool   // the origin is http: a try on one's own machine
	IdentityHeader string
	Cookies        [2]string // the web UI's session cookie and its profile cookie
	Continuity     bool
	DenyOpen       []string
	SnapshotLimit  int
	BodyLimit      int64
	Salt           []byte
	Trusted        []netip.Prefix
	Issuer         string
}

// Options are what an Edge is made of.
type Options struct {
	Settings
	Slots  []Slot
	Store  Store
	Commit func(ctx context.Context, c mooring.Change) error // returns once the store has the change
	Verify Verifier                                          // set for bearer tokens
	Login  *LoginOptions                                     // set where the edge is the relying party
	// Witness is the file that says how far the store had come, "" where it is watched by others.
	Witness string
	Now     func() time.Time
	Log     *slog.Logger
	Meter   Meter
}

// Meter counts what the edge does.
type Meter interface {
	EdgeAnswered(class string, status int)
	EdgeRefused(code string)
	EdgeUntagged(why string)
}

// Edge is made by New, started by Listen and Start, and ended by Shutdown and Close.
type Edge struct {
	set    Settings
	source source
	login  *login // nil where others sign people in
	book   *book
	bind_  []byte // keys the binding cookies
	script script
	big    chan struct{} // a place for each snapshot over the limit
	opts   Options
	log    *slog.Logger

	mu    sync.RWMutex // guards slots
	slots map[mooring.SlotName]*slot
	order []mooring.SlotName

	open visits

	http     *http.Server
	listener net.Listener
	accept   sync.WaitGroup
	follow   sync.WaitGroup
	end      context.CancelFunc
	base     context.Context //nolint:containedctx // of everything the edge does
}

// Timeouts of the browser's side.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	maxHeader  = 32 << 10
)

// New makes an edge. Nothing is read or listened on yet.
func New(o Options) (*Edge, error) {
	base, end := context.WithCancel(context.Background())
	e := &Edge{
		set: o.Settings, opts: o, log: o.Log, script: continuityScript(), big: make(chan struct{}, snapshotsAtOnce), base: base, end: end,
		bind_: derive(o.Salt, "the binding of browsers to slots"),
		book:  &book{store: o.Store, commit: o.Commit, keyID: KeyIDOf(o.Salt), now: o.Now, log: o.Log, witness: o.Witness},
	}
	switch {
	case o.Login != nil:
		e.login = newLogin(e, *o.Login)
		e.source = e.login
	case o.Verify != nil:
		e.source = &bearerToken{nets: o.Trusted, salt: o.Salt, issuer: o.Issuer, verify: o.Verify}
	default:
		e.source = &forwardedUser{nets: o.Trusted, salt: o.Salt, issuer: o.Issuer}
	}
	if err := e.Replace(o.Slots); err != nil {
		end()
		return nil, err
	}
	e.http = &http.Server{
		Handler: e, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog:    slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return base },
		Protocols:   new(http.Protocols),
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 100},
	}
	e.http.Protocols.SetHTTP1(true)
	e.http.Protocols.SetUnencryptedHTTP2(true) // a TLS proxy in front may speak it; browsers then have no six-connection limit
	return e, nil
}

// Replace takes a new list of slots. What a slot that is gone from it is sending ends; its tenant keeps it and gets 503.
func (e *Edge) Replace(list []Slot) error {
	slots, order := map[mooring.SlotName]*slot{}, make([]mooring.SlotName, 0, len(list))
	e.mu.RLock()
	old := e.slots
	e.mu.RUnlock()
	for _, s := range list {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" {
			return fmt.Errorf("slot %s has no address", s.Name)
		}
		if is := old[s.Name]; is != nil && is.url.Scheme == u.Scheme && is.url.Host == u.Host {
			slots[s.Name] = is
		} else {
			slots[s.Name] = newSlot(s.Name, u)
		}
		order = append(order, s.Name)
	}
	e.mu.Lock()
	e.slots, e.order = slots, order
	e.mu.Unlock()
	e.open.end(func(v *visit) bool { return slots[v.slot.name] != v.slot })
	return nil
}

func (e *Edge) slotOf(c mooring.Claim) *slot {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.slots[c.Slot]
}

func (e *Edge) names() []mooring.SlotName {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.order
}

// Listen takes the address, reads the claims and says where it listens.
func (e *Edge) Listen(ctx context.Context, addr string) (net.Addr, error) {
	if err := e.book.load(ctx); err != nil {
		return nil, fmt.Errorf("read who has which slot: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	e.listener = ln
	return ln.Addr(), nil
}

// OtherSalt gives how many slots are held by claims that were made under another salt; it counts once Listen has returned.
func (e *Edge) OtherSalt() int { return e.book.otherSalt() }

// Start accepts requests.
func (e *Edge) Start() {
	e.accept.Go(func() {
		if err := e.http.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			e.log.LogAttrs(e.base, slog.LevelError, "the edge's listener failed", slog.Any("err", err))
		}
	})
	e.follow.Go(func() { e.watch(e.base) })
}

// Shutdown stops accepting and waits for what runs, streams excepted: those end at once, since they never do by themselves.
func (e *Edge) Shutdown(ctx context.Context) error {
	e.open.end(func(v *visit) bool { return v.stream })
	if err := e.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("drain the edge: %w", err)
	}
	return nil
}

// Close ends everything and waits for it.
func (e *Edge) Close() error {
	e.end()
	e.open.end(func(*visit) bool { return true })
	err := e.http.Close()
	if e.listener != nil {
		if again := e.listener.Close(); again != nil && !errors.Is(again, net.ErrClosed) {
			err = errors.Join(err, again)
		}
	}
	e.accept.Wait()
	e.follow.Wait()
	e.open.wait()
	return err
}

// watch follows what other processes do: what is no longer anybody's right ends here too.
func (e *Edge) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	logouts := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := e.book.look(ctx); err != nil && ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "who has which slot cannot be read", slog.Any("err", err))
			continue
		}
		e.revoke()
		if e.login == nil {
			continue
		}
		if _, now := e.book.current(); now != logouts {
			e.login.forgetAll() // first, so that nothing begins on what was known of one that is gone
			if e.login.endGone(ctx) {
				logouts = now
			}
		}
	}
}

// revoke ends what runs on claims that are no longer so.
func (e *Edge) revoke() {
	claims, _ := e.book.current()
	e.open.end(func(v *visit) bool {
		c, ok := claims[v.key]
		return !ok || !v.standsOn(c)
	})
}

// named says whether a request is for this host, with or without the port that a scheme implies.
func (e *Edge) named(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	return host == e.set.Host || host == e.set.Host+":443" || host == e.set.Host+":80"
}

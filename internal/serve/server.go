// Package serve owns the listener of the program and everything that holds for every request on it: who may call (client
// keys, the pages' cookie, their limits, Host, Origin), what a page of another origin may read, how much body is taken, the access line, and
// how the server drains. It never looks into a body and knows no route.
//
// Goroutines: one per Server that accepts connections, and those of net/http; Close waits for all of them.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/signin"
)

const (
	maxHeaderBytes    = 64 << 10
	defaultHeaderTime = 10 * time.Second
	defaultBodyTime   = 30 * time.Second
	defaultStallTime  = time.Minute     // networks that lose a client for a moment find it again within that
	defaultIdleTime   = 2 * time.Minute // longer than the keep-alive of the usual front proxies and SDKs
	defaultBodyBudget = 512 << 20
)

// Options are what a server cannot change while it runs. Log and Now are required, the zero value of any other field
// means its default.
type Options struct {
	Log *slog.Logger
	Now func() time.Time

	HeaderTimeout time.Duration // for a request's header
	BodyTimeout   time.Duration // for the next bytes of a request's body, and for room to hold it
	StallTimeout  time.Duration // for the client to take the next bytes of an answer
	IdleTimeout   time.Duration // for the next request of a kept connection
	BodyBudget    int64         // bytes that the bodies of all requests may take together
	Lull          time.Duration // at the beginning of a drain, for clients to hear of it on kept connections; 0 closes them at once

	// SessionHeaders names the headers that carry session ids; a page of an allowed origin may send them.
	SessionHeaders func() []string
	// Spent tells what a key has used from one time to another. Without it no key with a budget is served. It is asked every five
	// seconds at most for a key that is in use.
	Spent func(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName, from, to time.Time) (mooring.KeyUse, error)
	// Elsewhere counts the turns of a key that other replicas run; nil where there are none to share with. It is asked for each turn
	// of a key with `streams` while there are several replicas.
	Elsewhere func(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName) (int, error)
	// Limited is told which limit of its key has refused a request.
	Limited func(Limit)
	// SignIns are the browsers that are signed in; nil where the pages' cookie counts for nothing and nobody signs in.
	SignIns *signin.Book
	// Answered is told the status of every request that Wrap has served.
	Answered func(status int)
}

// Server is a listener with its rules. It is made by New; several may stand side by side.
type Server struct {
	opts  Options
	log   *slog.Logger
	http  *http.Server
	rules atomic.Pointer[ruleset]

	limits   limits
	replicas atomic.Int64 // that share the keys; 0 for this one alone

	room    *room     // for bodies
	buffers sync.Pool // of *bytes.Buffer

	listener net.Listener
	kept     kept                    // connections that are open
	end      context.CancelCauseFunc // ends the contexts of all requests
	accept   sync.WaitGroup          // the accepting goroutine
	running  running
	drain    chan struct{} // closed once the server drains
	drained  sync.Once
}

// New makes a server that allows what the zero Rules allow: anything from this machine.
func New(o Options) *Server {
	o = o.withDefaults()
	ctx, end := context.WithCancelCause(context.Background())
	s := &Server{
		opts:  o,
		log:   o.Log,
		end:   end,
		room:  newRoom(o.BodyBudget),
		drain: make(chan struct{}),
	}
	s.http = &http.Server{
		ReadHeaderTimeout: o.HeaderTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         s.kept.note,
	}
	s.SetRules(Rules{})
	return s
}

func (o Options) withDefaults() Options {
	if o.Log == nil || o.Now == nil {
		panic("serve: Options need Log and Now")
	}
	if o.HeaderTimeout <= 0 {
		o.HeaderTimeout = defaultHeaderTime
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = defaultBodyTime
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = defaultStallTime
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTime
	}
	if o.BodyBudget <= 0 {
		o.BodyBudget = defaultBodyBudget
	}
	if o.SessionHeaders == nil {
		o.SessionHeaders = func() []string { return nil }
	}
	if o.Limited == nil {
		o.Limited = func(Limit) {}
	}
	if o.Answered == nil {
		o.Answered = func(int) {}
	}
	return o
}

// Listen takes the address, so that the caller can tell which one it is before Start accepts anything.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.listener = ln
	return ln.Addr(), nil
}

// Start accepts requests on the address that Listen took. The handler is served as it is: hand in what Wrap or Observe gave.
func (s *Server) Start(handler http.Handler) {
	if s.listener == nil {
		panic("serve: Start before Listen")
	}
	s.http.Handler = handler
	s.accept.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) && !s.isDraining() {
			s.log.LogAttrs(context.Background(), slog.LevelError, "listener failed", slog.Any("err", err))
		}
	})
}

// Draining is closed once the server drains; what never ends by itself, such as an event stream, ends then.
func (s *Server) Draining() <-chan struct{} { return s.drain }

// Shutdown drains: no connection is accepted any more, a request on a kept connection is answered 503, what runs goes on
// to its end. It returns when nothing runs, or with the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drained.Do(func() { close(s.drain) })
	s.lull(ctx)
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("drain connections: %w", err)
	}
	return nil
}

// farewell is how long a handler has to say why its answer ends, once the server no longer waits for it.
const farewell = 3 * time.Second

// Close ends what still runs and waits for it: the contexts of requests end with the cause CodeShuttingDown, and a moment
// later their connections. After a Shutdown that returned nil there is nothing left to end.
func (s *Server) Close() error {
	s.drained.Do(func() { close(s.drain) })
	s.end(errShuttingDown())
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = s.http.Shutdown(ctx) // who is not done by then is cut off
	err := s.http.Close()
	if s.listener != nil {
		// http.Server knows the listener only from Start on.
		if again := s.listener.Close(); again != nil && !errors.Is(again, net.ErrClosed) {
			err = errors.Join(err, again)
		}
	}
	s.accept.Wait()
	s.running.wait()
	if err != nil {
		return fmt.Errorf("close listener: %w", err)
	}
	return nil
}

func errShuttingDown() error {
	err := mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down; try again.")
	err.RetryAfter = time.Second
	return err
}

func (s *Server) isDraining() bool {
	select {
	case <-s.drain:
		return true
	default:
		return false
	}
}

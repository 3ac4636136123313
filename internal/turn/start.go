package turn

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mooring"
)

// own are the turns that belong to the server.
type own struct {
	mu     sync.Mutex // guards the fields below
	closed bool
	turns  map[*running]bool
	group  sync.WaitGroup
}

// begin runs a turn in a goroutine of its own; false where no more are to begin.
func (o *own) begin(t *running, run func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.turns == nil {
		o.turns = map[*running]bool{}
	}
	o.turns[t] = true
	o.group.Go(func() {
		run()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.turns, t)
	})
	return true
}

// close lets none begin any more, and gives those that run.
func (o *own) close() []*running {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	list := make([]*running, 0, len(o.turns))
	for t := range o.turns {
		list = append(list, t)
	}
	return list
}

// nowhere is the sink of a turn that has no client of its own.
type nowhere struct{}

func (nowhere) About(About)             {}
func (nowhere) Head(Head) error         { return nil }
func (nowhere) Write(_, _ []byte) error { return nil }
func (nowhere) Trailer(http.Header)     {}

// Start runs a turn that belongs to the server: it goes on without a listener for as long as detach says, asked anew each time the
// last one leaves. It gives the turn as soon as it is written down, or the error that refuses it; the context bounds that waiting
// alone. A request whose ClientMessage a turn of its session has already gives that turn.
func (r *Runner) Start(ctx context.Context, req Request, detach func() time.Duration) (*Live, error) {
	t := r.running(req, nowhere{})
	t.own = true
	t.tape.detach, t.tape.followed = detach, true
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.cancel, t.tape.cancel = cancel, cancel
	t.turn.ID = r.NewTurn()
	ended := func() {
		cancel(nil)
		if req.Ended != nil {
			req.Ended()
		}
	}
	if !r.own.begin(t, func() {
		defer ended()
		_ = r.run(run, t) // who waits for it finds it on the tape
	}) {
		ended()
		return nil, mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down; try again.")
	}
	return t.tape.live(ctx)
}

// live waits until the turn is written down.
func (t *tape) live(ctx context.Context) (*Live, error) {
	select {
	case <-t.begun:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	same, wrote, err := t.same, t.wrote, t.err
	t.mu.Unlock()
	switch {
	case same != nil && same.ask == nil:
		return same.tape.live(ctx)
	case same != nil:
		return same, nil
	case !wrote && err != nil:
		return nil, err
	}
	return &Live{tape: t}, nil
}

// Close lets no turn of the server's begin any more, and waits for those that run until the context ends; then it ends them. Turns
// of clients are their routes' to end.
func (r *Runner) Close(ctx context.Context) {
	left := r.own.close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.own.group.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		for _, t := range left {
			t.cancel(errShutdown())
		}
		<-ended
	}
	r.table.forget()
}

// errSent ends a request whose send has begun a turn already.
var errSent = errors.New("this send has begun a turn already")

// outcome is what those who follow a turn are told at its end.
func (t *running) outcome(err error) (mooring.Turn, error) {
	switch {
	case err != nil, t.turn.State == mooring.Completed, t.turn.State == "":
		return t.turn, err
	}
	reason := "The turn did not complete"
	if n := len(t.turn.Attempts); n > 0 && t.turn.Attempts[n-1].Reason != "" {
		reason = t.turn.Attempts[n-1].Reason
	}
	code := t.turn.ErrorCode
	switch {
	case code != "":
	case t.turn.State == mooring.Cancelled:
		code = mooring.CodeTurnCancelled
	default:
		code = mooring.CodeUpstreamError
	}
	return t.turn, mooring.Errorf(code, "%s.", reason)
}

package turn

import (
	"context"
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
	if t.req.Kind == "" {
		t.req.Kind = mooring.KindMain // a person has written it, whatever it looks like
	}
	t.tape.detach, t.tape.followed, t.tape.begun = detach, true, make(chan struct{})
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
		_ = r.take(run, t) // who waits for it finds it on the tape
	}) {
		ended()
		return nil, mooring.Errorf(mooring.CodeShuttingDown, "The server is shutting down; try again.")
	}
	t.tape.mu.Lock()
	t.tape.left() // nobody listens yet
	t.tape.mu.Unlock()
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
	case same != nil && same.ask != nil:
		return same, nil
	case same != nil:
		return same.tape.live(ctx)
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

// outcome is what those who follow a turn are told at its end.
func outcome(t mooring.Turn, err error) (mooring.Turn, error) {
	switch {
	case t.State == "": // it has none, or was refused
		return mooring.Turn{}, err
	case err != nil, t.State == mooring.Completed:
		return t, err
	}
	reason := "The turn did not complete"
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1].Reason != "" {
		reason = t.Attempts[n-1].Reason
	}
	code := t.ErrorCode
	switch {
	case code != "":
	case t.State == mooring.Cancelled:
		code = mooring.CodeTurnCancelled
	default:
		code = mooring.CodeUpstreamError
	}
	return t, mooring.Errorf(code, "%s.", reason)
}

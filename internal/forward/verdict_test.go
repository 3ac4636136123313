package forward_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
)

// What becomes of a request is told to the health of its upstream: five in a row open the circuit, or do not.
func TestWhatAnswersSayOfTheirUpstream(t *testing.T) {
	t.Parallel()
	stream := func(events ...string) upstreamtest.Reply {
		return upstreamtest.Reply{ContentType: "text/event-stream", Events: events}
	}
	const failure = "data: {\"error\":{\"message\":\"no\"}}\n\n"
	for _, row := range []struct {
		rule  string
		text  string
		reply upstreamtest.Reply
		want  upstream.Standing
	}{
		{"answers are well", buffered, upstreamtest.Reply{}, upstream.Well},
		{"streams too", streamed, upstreamtest.Reply{}, upstream.Well},
		{"errors of the server are not", buffered, upstreamtest.Failure(502), upstream.Erring},
		{"errors of the request are", buffered, upstreamtest.Failure(400), upstream.Well},
		{"a stream that opens with an error is not", streamed, stream(failure), upstream.Erring},
		{"a stream that says nothing is not", streamed, stream(": ping\n\n"), upstream.Erring},
		{"a body that breaks off is not", buffered, upstreamtest.Reply{Fault: upstreamtest.Cut}, upstream.Erring},
		{"a stream that breaks off after it has begun is: it is too late to go elsewhere", streamed, upstreamtest.Reply{Fault: upstreamtest.Cut, At: 3}, upstream.Well},
		{"no answer is not", buffered, upstreamtest.Reply{Fault: upstreamtest.Lost}, upstream.Silent},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Always(row.reply)
			u := target(t, upstream.Spec{URL: s.URL})
			for range 5 {
				ask(t, u, row.text)
			}
			if got := u.Standing(time.Now()); got != row.want || u.InFlight() != 0 {
				t.Errorf("standing %d with %d in flight, want %d and none", got, u.InFlight(), row.want)
			}
			s.Always(upstreamtest.Reply{})
			if ask(t, u, row.text); !u.Up(time.Now()) {
				t.Error("a good answer does not close the circuit")
			}
		})
	}
}

// ask sends a call and reads what comes.
func ask(t *testing.T, u *upstream.Upstream, text string) {
	t.Helper()
	res, err := engine().Open(t.Context(), call(u, text, nil))
	if err != nil {
		return
	}
	defer res.Close()
	if !res.Stream {
		res.Whole()
		return
	}
	if early := res.Peek(); !early.Early {
		res.Copy(&sink{})
	}
}

func TestClientThatLeavesWhileItWaitsForAPlace(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.Always(upstreamtest.Reply{Fault: upstreamtest.Hang})
	u := target(t, upstream.Spec{URL: s.URL, MaxInFlight: 1})
	held, err := u.Enter(t.Context(), upstream.Visitor{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		cause error
		want  error
	}{
		"went away":    {context.Canceled, context.Canceled},
		"was fenced":   {mooring.Errorf(mooring.CodeTurnCancelled, "Stopped."), mooring.Errorf(mooring.CodeTurnCancelled, "Stopped.")},
		"never waited": {nil, upstream.ErrFull},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := call(u, buffered, http.Header{})
		if of.cause != nil {
			c.Terms = forward.Terms{Wait: time.Minute, Depth: 1}
			go func() {
				for u.Waiting() == 0 {
					time.Sleep(time.Millisecond) // nobody is told when it does
				}
				cancel(of.cause)
			}()
		}
		_, err := engine().Open(ctx, c)
		cancel(nil)
		if !errors.Is(err, of.want) && mooring.CodeOf(err) != mooring.CodeOf(of.want) {
			t.Errorf("%s: %v, want %v", name, err, of.want)
		}
	}
	held.Leave()
	if _, failed := u.Requests(); u.InFlight() != 0 || failed != 0 || len(s.Posts()) != 0 {
		t.Errorf("%d in flight, %d failed, %d sent; want nothing of it", u.InFlight(), failed, len(s.Posts()))
	}
}

package turn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/problem"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// answer asks the target, and others where it fails before the first byte, and passes on the answer that comes.
func (t *running) answer(ctx context.Context) error {
	tried := asked{}
	for {
		tried[t.target.spot()] = true
		t.wait.rest(ctx)
		began := t.Now()
		res, err := t.send(ctx, began, tried)
		attempt := t.attempt(began)
		if err != nil {
			if again, end := t.unanswered(ctx, attempt, err, tried); !again {
				return end
			}
			continue
		}
		again, err := t.relay(ctx, res, attempt, tried)
		res.Close()
		if !again {
			return err
		}
	}
}

// attempt is the one that began then.
func (t *running) attempt(began time.Time) mooring.Attempt {
	a := mooring.Attempt{Upstream: t.target.Name, Account: t.target.account.Name, Why: t.target.why, State: mooring.Running, StartedAt: began}
	if a.Model = clip(t.target.model); a.Model != "" {
		a.Alias = clip(t.req.Wire.Model)
	}
	return a
}

func (t *running) call(at time.Time) forward.Call {
	return forward.Call{
		Upstream: t.target.Upstream, Account: t.target.account, Protocol: t.req.Protocol, Method: t.req.Method, Path: t.req.Path, Query: t.req.Query,
		Header: t.traced(at), Body: t.bodyFor(t.target.model), Own: t.req.Caller.Own, Remote: t.remote, Stream: t.req.Wire.MayStream(),
	}
}

// unanswered ends an attempt that got no response header: another candidate is asked, or the turn ends.
func (t *running) unanswered(ctx context.Context, a mooring.Attempt, err error, tried asked) (again bool, _ error) {
	out := forward.Outcome{State: mooring.Failed, Code: mooring.CodeOf(err), Reason: reason(err)}
	switch {
	case out.Code == mooring.CodeTurnCancelled:
		out.State = mooring.Cancelled
	case errors.Is(err, context.Canceled):
		out = forward.Outcome{State: mooring.Cancelled, Reason: "The client went away"}
	}
	t.finish(&a, out, 0)
	unreachable := out.State == mooring.Failed && !errors.Is(err, forward.ErrUnusable) && !errors.Is(err, upstream.ErrFull)
	if unreachable && t.Rules().FailoverOn.Unreachable {
		for _, c := range t.choices { // for another model it would not be reached either
			tried[askedOf(c)] = tried[askedOf(c)] || c.Name == t.target.Name
		}
		if t.another(ctx, &a, nil, tried) {
			return true, nil
		}
		if t.wait.began() && ctx.Err() == nil && out.Code != mooring.CodeUpstreamTimeout {
			err = t.inVain(err)
			out.Code = mooring.CodeOf(err)
		}
	}
	if serr := t.settle(ctx); serr != nil {
		return false, serr
	}
	status := problem.Status(err)
	t.conclude(out, status)
	if eerr := t.end(ctx, out, status); eerr != nil {
		return false, eerr
	}
	return false, err
}

// conclude tells the client of a turn whose outcome is known: without a 2xx no new pin is kept, so none is named.
func (t *running) conclude(out forward.Outcome, status int) {
	if !t.bound && !answered(out, status) {
		t.turn.Pin = ""
	}
	t.about()
}

// answered says that the upstream gave a 2xx that can be relayed and is more than an error under a good status.
func answered(out forward.Outcome, status int) bool {
	return status/100 == 2 && out.Code == "" && !out.Early
}

func reason(err error) string {
	if e, ok := errors.AsType[*mooring.Error](err); ok && e.Safe != "" {
		return forward.Reason(e)
	}
	return "Internal error"
}

// finish notes how an attempt ended.
func (t *running) finish(a *mooring.Attempt, out forward.Outcome, status int) {
	a.State, a.Reason, a.Status, a.Usage, a.EndedAt = out.State, out.Reason, status, out.Answer.Usage, t.Now()
	a.Answered = clip(out.Answer.Model)
	if t.sameTry(a) {
		last := &t.turn.Attempts[len(t.turn.Attempts)-1]
		last.Reason, last.EndedAt, last.Tries = a.Reason, a.EndedAt, max(last.Tries, 1)+1
		return
	}
	t.turn.Attempts = append(t.turn.Attempts, *a)
	t.turn.Usage = t.turn.Usage.Add(a.Usage)
}

// relay passes an answer on.
func (t *running) relay(ctx context.Context, res *forward.Response, a mooring.Attempt, tried asked) (again bool, err error) {
	if res.Stream && t.req.Wire.MayStream() {
		return t.relayStream(ctx, res, a, tried)
	}
	out := stopped(ctx, res.Whole())
	t.finish(&a, out, res.Status)
	if t.moves(out, res.Status) && (t.nextAccount(ctx) || t.another(ctx, &a, res.Header, tried)) {
		return true, nil
	}
	if err := t.settleAt(ctx); err != nil {
		return false, err
	}
	status := res.Status
	if out.Code != "" {
		status = problem.Status(mooring.Errorf(out.Code, "%s", out.Reason))
	}
	t.conclude(out, status)
	t.rotated(res)
	if err := t.end(ctx, out, status); err != nil {
		return false, err
	}
	if err := toldOf(ctx, out); err != nil {
		return false, err
	}
	res.Header.Set("Content-Length", strconv.Itoa(len(out.Body)))
	if t.sink.Head(Head{Status: res.Status, Header: res.Header, Length: len(out.Body)}) == nil {
		_ = t.sink.Write(out.Body, nil)
	}
	return false, nil
}

// stopped is an outcome that came too late for a turn which another request has ended: nothing of its answer counts.
func stopped(ctx context.Context, out forward.Outcome) forward.Outcome {
	why := fenced(ctx)
	if why == nil {
		return out
	}
	answer := wire.Answer{Usage: out.Answer.Usage, Model: out.Answer.Model}
	return forward.Outcome{State: mooring.Cancelled, Code: why.Code, Reason: forward.Reason(why), Answer: answer}
}

// toldOf is the error that a client reads whose answer did not come; nil where it did.
func toldOf(ctx context.Context, out forward.Outcome) error {
	switch why := fenced(ctx); {
	case out.State == mooring.Cancelled && why != nil:
		return why
	case out.State == mooring.Cancelled:
		return context.Canceled
	case out.Code != "":
		return mooring.Errorf(out.Code, "%s; send the request again.", out.Reason)
	}
	return nil
}

// moves says whether the rules let a turn go to another upstream after this outcome; nothing has reached the client yet.
func (t *running) moves(out forward.Outcome, status int) bool {
	if out.State != mooring.Failed || !out.Early {
		return false
	}
	on := t.Rules().FailoverOn
	if status/100 == 2 {
		return on.Unreachable
	}
	return on.lists(status)
}

// lists says that an answer of this status is a failure.
func (on FailoverOn) lists(status int) bool {
	return on.Any5xx && status >= http.StatusInternalServerError || slices.Contains(on.Statuses, status)
}

// settleAt is settle for an answer that is there already: whatever the race decided, the session's home is where it came from.
func (t *running) settleAt(ctx context.Context) error {
	from := t.target
	if err := t.settle(ctx); err != nil {
		return err
	}
	if t.target.Upstream != from.Upstream || t.target.model != from.model {
		t.setTarget(from)
		t.bound = t.side()
	}
	return nil
}

// relayStream passes a stream on: its header once the session and its pin are committed, its terminal event once the turn is.
func (t *running) relayStream(ctx context.Context, res *forward.Response, a mooring.Attempt, tried asked) (again bool, err error) {
	early := res.Peek()
	if t.moves(early, res.Status) && t.another(ctx, &a, res.Header, tried) {
		t.finish(&a, early, res.Status)
		return true, nil
	}
	if early.State == mooring.Cancelled {
		t.finish(&a, early, res.Status)
		return false, t.lost(ctx, early, res.Status)
	}
	if err := t.settleAt(ctx); err != nil {
		return false, err
	}
	if !early.Early { // an error under a good status keeps no pin
		t.rotated(res)
		if err := t.bind(ctx); err != nil {
			return false, err
		}
	}
	t.conclude(early, res.Status)
	t.turn.FirstAt = t.Now()
	out := t.copyStream(res)
	if why := fenced(ctx); why != nil && out.State == mooring.Completed { // it had come to its end, and was not kept yet
		out.State, out.Code, out.Reason = mooring.Cancelled, why.Code, forward.Reason(why)
		out.Tail = forward.FailureTail(t.req.Protocol, out.Code, out.Reason)
	}
	out.Early = early.Early
	t.finish(&a, out, res.Status)
	if err := t.end(ctx, out, res.Status); err != nil {
		t.broken = err // those who follow it hear that, as its client does
		out.Tail = forward.FailureTail(t.req.Protocol, mooring.CodeOf(err), whyUnstored(err))
	}
	if len(out.Tail) > 0 && (out.State != mooring.Cancelled || out.Code != "") {
		_ = t.sink.Write(out.Tail, nil)
		t.sink.Trailer(res.Trailer())
	}
	return false, nil
}

// whyUnstored is what a client reads in the place of the end, without what to do about it.
func whyUnstored(err error) string {
	if e, ok := errors.AsType[*mooring.Error](err); ok && e.Code == mooring.CodeTurnCancelled {
		return forward.Reason(e)
	}
	return "The turn could not be stored"
}

func (t *running) copyStream(res *forward.Response) forward.Outcome {
	if err := t.sink.Head(Head{Status: res.Status, Header: res.Header, Length: -1}); err != nil {
		return forward.Outcome{State: mooring.Cancelled, Reason: "The client went away"}
	}
	return res.Copy(t.sink)
}

// lost ends a turn whose client has gone before anything was sent.
func (t *running) lost(ctx context.Context, out forward.Outcome, status int) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	if err := t.end(ctx, out, status); err != nil {
		return err
	}
	return toldOf(ctx, out)
}

package forward

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// Sink takes a stream's bytes, in order, and sends them at once. An error means that the client is gone.
type Sink interface {
	Write(held, fresh []byte) error
}

// Peek reads a stream until its first event that means something has come, or Limits.Peek is over. Early in the outcome says
// that the answer failed before that; a zero State says that it goes on with Copy.
func (r *Response) Peek() Outcome { return r.judge(r.awaitBeginning()) }

func (r *Response) awaitBeginning() Outcome {
	late := time.NewTimer(r.limits.Peek)
	defer late.Stop()
	for {
		data, ok, err := r.pump.within(late.C)
		if !ok {
			return Outcome{}
		}
		r.idle.Reset(r.limits.StreamIdle)
		class, ferr := r.keep(data)
		switch {
		case ferr != nil:
			return early(r.broken(ferr), r.meter)
		case class == wire.Error:
			return r.atOnce()
		case class >= wire.Content || r.meter.Terminal():
			return Outcome{}
		case errors.Is(err, io.EOF) && r.meter.Complete():
			return r.atOnce()
		case errors.Is(err, io.EOF):
			return early(r.short(), r.meter)
		case err != nil:
			return early(r.broken(err), r.meter)
		}
	}
}

// atOnce judges an answer whose first event that means something is its last one.
func (r *Response) atOnce() Outcome {
	if !r.meter.Failed() {
		return Outcome{}
	}
	return Outcome{State: mooring.Failed, Reason: "The first event is an error", Answer: r.meter.Answer(), Early: true}
}

func early(out Outcome, m *wire.Meter) Outcome {
	out.Answer = m.Answer()
	return out
}

// keep feeds the meter and saves what may go to the client later.
func (r *Response) keep(data []byte) (wire.EventClass, error) {
	pass, err := r.meter.Feed(data)
	r.ahead = append(append(r.ahead, pass.Held...), pass.Fresh...)
	if err != nil {
		err = errAnswerTooLarge
	}
	return pass.Event, err
}

// Copy passes the stream on to the sink until the event at which a client stops reading: the terminal one or an error. That one
// and what comes behind it stay back in the outcome's Tail.
func (r *Response) Copy(sink Sink) Outcome {
	if len(r.ahead) > 0 {
		if err := sink.Write(r.ahead, nil); err != nil {
			return r.gone()
		}
		r.ahead = nil
	}
	r.awaitEnd(wire.None)
	for !r.meter.Terminal() {
		data, err := r.pump.next()
		r.idle.Reset(r.limits.StreamIdle)
		if r.ctx.Err() != nil && r.stopped().Code == mooring.CodeTurnCancelled {
			return r.ended(r.ctx.Err()) // what came meanwhile is not to be sent
		}
		pass, ferr := r.meter.Feed(data)
		if len(pass.Held)+len(pass.Fresh) > 0 {
			if sink.Write(pass.Held, pass.Fresh) != nil {
				return r.gone()
			}
		}
		if ferr != nil {
			err = errAnswerTooLarge
		}
		if err != nil && !r.meter.Terminal() {
			return r.ended(err)
		}
		r.awaitEnd(pass.Event)
	}
	return r.completed(r.meter.Tail())
}

// awaitEnd bounds the wait where only the end of the stream is missing. The time begins anew with every event: another choice may
// go on, the usage may follow. Pings and comments are no news.
func (r *Response) awaitEnd(news wire.EventClass) {
	if r.linger != nil {
		if news == wire.None {
			return
		}
		r.linger.Stop()
		r.linger = nil
	}
	if !r.meter.Terminal() && r.meter.Ending() {
		r.linger = time.AfterFunc(r.limits.Linger, func() { r.cancel(errLinger) })
	}
}

func (r *Response) gone() Outcome {
	out := r.stopped()
	r.cancel(nil)
	out.Answer = r.meter.Answer()
	return out
}

// completed is the outcome of a stream that came to its protocol's end; one that held an error event has failed all the same.
func (r *Response) completed(tail []byte) Outcome {
	out := Outcome{State: mooring.Completed, Answer: r.meter.Answer(), Tail: tail}
	if out.Answer.Err != nil {
		out.State, out.Reason = mooring.Failed, "The upstream sent an error in its stream"
	}
	return out
}

// ended judges a stream that stopped without its terminal event.
func (r *Response) ended(err error) Outcome {
	clean := errors.Is(err, io.EOF)
	over := clean || r.lingered()
	switch {
	case over && r.meter.Complete():
		return r.completed(r.meter.Tail())
	case r.meter.Failed() && !marked(r.call.Protocol): // an error is the end there
		return r.completed(r.meter.Tail())
	case r.meter.Failed(), over && r.meter.Finished():
		return r.completed(slices.Concat(r.meter.Tail(), r.meter.Terminator()))
	}
	out := r.broken(err)
	if clean {
		out = r.short()
	}
	out.Answer, out.Early = r.meter.Answer(), false
	if out.Code != "" {
		out.Tail = FailureTail(r.call.Protocol, out.Code, out.Reason)
	}
	return out
}

func (r *Response) lingered() bool { return errors.Is(context.Cause(r.ctx), errLinger) }

func (r *Response) short() Outcome {
	return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "The upstream " + string(r.call.Upstream.Name) + " stopped short of its end", Early: true}
}

// marked says that a protocol's streams end with a mark that holds nothing, behind an error too.
func marked(p mooring.Protocol) bool { return p == mooring.Chat || p == mooring.Completions }

// FailureTail is what ends a stream that failed: an error event in its protocol and, on chat and completions, the mark that
// clients wait for. After store_unavailable there is none: a terminator would say that the turn is kept.
func FailureTail(p mooring.Protocol, code mooring.Code, reason string) []byte {
	advice := "; send the request again."
	if code == mooring.CodeTurnCancelled {
		advice = "."
	}
	tail := wire.ErrorEvent(p, code, reason+advice)
	if marked(p) && code != mooring.CodeStoreUnavailable {
		tail = append(tail, wire.NewMeter(p, wire.MeterLimits{}).Terminator()...)
	}
	return tail
}

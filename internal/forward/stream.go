package forward

import (
	"context"
	"errors"
	"io"
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
func (r *Response) Peek() Outcome {
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
			return Outcome{State: mooring.Failed, Reason: "the first event is an error", Answer: r.meter.Answer(), Early: true}
		case class >= wire.Content || r.meter.Terminal():
			return Outcome{}
		case errors.Is(err, io.EOF):
			return early(r.short(), r.meter)
		case err != nil:
			return early(r.broken(err), r.meter)
		}
	}
}

func early(out Outcome, m *wire.Meter) Outcome {
	out.Answer, out.Early = m.Answer(), true
	return out
}

// keep feeds the meter and saves what may go to the client later.
func (r *Response) keep(data []byte) (wire.EventClass, error) {
	pass, err := r.meter.Feed(data)
	r.ahead = append(append(r.ahead, pass.Held...), pass.Fresh...)
	return pass.Event, err
}

// Ahead gives what the peek has let through, for an answer that failed early and is relayed all the same.
func (r *Response) Ahead() []byte { return r.ahead }

// Copy passes the stream on to the sink until its terminal event, which stays back in the outcome's Tail.
func (r *Response) Copy(sink Sink) Outcome {
	if len(r.ahead) > 0 {
		if err := sink.Write(r.ahead, nil); err != nil {
			return r.gone()
		}
		r.ahead = nil
	}
	var linger *time.Timer
	for !r.meter.Terminal() {
		if linger == nil && r.meter.Finished() {
			linger = time.AfterFunc(r.limits.Linger, func() { r.cancel(errLinger) })
			defer linger.Stop()
		}
		data, err := r.pump.next()
		r.idle.Reset(r.limits.StreamIdle)
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
	}
	return r.completed(r.meter.Tail())
}

func (r *Response) gone() Outcome {
	r.cancel(nil)
	return Outcome{State: mooring.Cancelled, Reason: "the client went away", Answer: r.meter.Answer()}
}

// completed is the outcome of a stream that came to its protocol's end; one that held an error event has failed all the same.
func (r *Response) completed(tail []byte) Outcome {
	out := Outcome{State: mooring.Completed, Answer: r.meter.Answer(), Tail: tail}
	if out.Answer.Err != nil {
		out.State, out.Reason = mooring.Failed, "the upstream sent an error in its stream"
	}
	return out
}

// ended judges a stream that stopped without its terminal event.
func (r *Response) ended(err error) Outcome {
	answer := r.meter.Answer()
	clean := errors.Is(err, io.EOF)
	switch {
	case answer.Err != nil && r.call.Protocol == mooring.Chat:
		return r.completed(r.meter.Terminator())
	case answer.Err != nil:
		return r.completed(nil)
	case r.meter.Finished() && (clean || r.lingered()):
		return r.completed(r.meter.Terminator())
	}
	var out Outcome
	if clean {
		out = r.short()
	} else {
		out = r.broken(err)
	}
	out.Answer = answer
	if out.State == mooring.Failed {
		out.Tail = FailureTail(r.call.Protocol, out.Code, out.Reason)
	}
	return out
}

func (r *Response) lingered() bool { return errors.Is(context.Cause(r.ctx), errLinger) }

func (r *Response) short() Outcome {
	return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "the upstream " + string(r.call.Upstream.Name) + " stopped short of its end"}
}

// FailureTail is what ends a stream that failed: an error event in its protocol and, on chat, the terminator, because clients
// wait for it. After store_unavailable there is none: a terminator would say that the turn is kept.
func FailureTail(p mooring.Protocol, code mooring.Code, reason string) []byte {
	tail := wire.ErrorEvent(p, code, reason+"; send the request again")
	if p == mooring.Chat && code != mooring.CodeStoreUnavailable {
		tail = append(tail, wire.NewMeter(p, wire.MeterLimits{}).Terminator()...)
	}
	return tail
}

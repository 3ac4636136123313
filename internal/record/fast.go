package record

import (
	"bytes"
	"context"
	"log/slog"

	"mooring"
)

// handed says that a change goes to the loop, never straight into the store: it may be journaled, or brings names.
func (w *Writer) handed(c mooring.Change) bool {
	if w.options.Journal == "" {
		return false
	}
	_, fast := frameOf(c)
	return fast || len(namesOf(c)) > 0
}

// ahead is how many bytes of changes the journal may be ahead of the store: they are held in memory too.
const ahead = 64 << 20

// enqueue hands a change to the loop. One whose outcome is known is written into the journal before, and its caller hears at
// once. While the store fails none is: then the caller should hear. Nor is one of a session that was deleted, nor while the store
// is far behind: then the caller should wait for it. There is room in the queue.
func (w *Writer) enqueue(ctx context.Context, p *Pending) error {
	w.waiting.Add(1) // before its names are noted: who loses a name to it waits for it with Sync
	if p.change == nil || !w.handed(p.change) {
		w.queue <- p
		return nil
	}
	if err := w.takeNames(ctx, p.change); err != nil {
		w.waiting.Add(-1)
		return err
	}
	p.named = true
	own, f, ok := ownCopy(p.change)
	if !ok || w.failing.Load() || w.ahead.Load() > ahead {
		w.queue <- p
		return nil
	}
	if err := w.journaled(p, own, f); err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelError, "journal not written, the store is asked directly", slog.Any("err", err))
		w.queue <- p
	}
	return nil
}

// journaled writes a change into the journal and queues it; one of a session that may be gone is only queued.
func (w *Writer) journaled(p *Pending, own mooring.Change, f frame) error {
	buf, ok := w.frames.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	defer func() {
		if buf.Cap() <= keptFrame {
			buf.Reset()
			w.frames.Put(buf)
		}
	}()
	if err := w.journal.encode(buf, f); err != nil {
		return err
	}
	w.order.Lock()
	defer w.order.Unlock()
	if w.gone.has(p.change) {
		w.queue <- p
		return nil
	}
	seq, err := w.journal.write(buf.Bytes())
	if err != nil {
		return err
	}
	w.ahead.Add(int64(buf.Len()))
	w.queue <- &Pending{change: own, seq: seq, named: p.named, size: buf.Len()}
	p.finish(nil)
	return nil
}

// ownCopy makes a change that holds no bytes of its caller, who goes on while the store has not seen it yet, nor an outcome.
// ok is false where there is no frame for it.
func ownCopy(c mooring.Change) (own mooring.Change, f frame, ok bool) { //nolint:ireturn // changes are of any kind
	if _, ok := frameOf(c); !ok {
		return nil, frame{}, false
	}
	switch c := c.(type) {
	case *mooring.Begin:
		b := *c
		b.Won, b.RemoteID, b.Err = nil, "", nil
		b.Messages = make([]mooring.Message, len(c.Messages))
		for i, m := range c.Messages {
			m.Content = bytes.Clone(m.Content)
			b.Messages[i] = m
		}
		own = &b
	case *mooring.Bind:
		b := *c
		b.Taken, b.Err = false, nil
		own = &b
	case *mooring.End:
		e := *c
		e.Taken, e.Err = false, nil
		if c.Answer != nil {
			m := *c.Answer
			m.Content = bytes.Clone(m.Content) // of a span of the whole answer it keeps no more than itself
			e.Answer = &m
		}
		own = &e
	case *mooring.Learning:
		l := *c
		l.Err = nil
		own = &l
	}
	f, _ = frameOf(own)
	return own, f, true
}

// emptied empties the journal of what the store has. A journal below the given size is left alone.
func (w *Writer) emptied(ctx context.Context, seq uint64, least int64) {
	if w.options.Journal == "" {
		return
	}
	w.order.Lock()
	defer w.order.Unlock()
	if w.journal == nil {
		return
	}
	if err := w.journal.applied(seq, least); err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "journal not emptied", slog.Any("err", err))
	}
}

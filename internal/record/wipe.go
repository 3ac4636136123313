package record

import (
	"context"
	"log/slog"

	"mooring"
)

// wipeAfter is for how many looks, one each idleAfter, the wiping of what was deleted waits for a moment without commits: 5 s.
const wipeAfter = 25

// leavesText says that a committed change has left texts behind that are to be gone: in the store's log, or in the journal, whose
// frames of a session that is gone reach no table.
func leavesText(c mooring.Change) bool {
	switch c := c.(type) {
	case *mooring.Delete:
		return c.Err == nil
	case *mooring.Prune:
		return c.Removed > 0
	case *mooring.Begin:
		return c.Err != nil
	case *mooring.End:
		return c.Err != nil
	}
	return false
}

// late says that a wiping has waited long enough for an idle moment. The loop alone calls it.
func (w *Writer) late() bool {
	if !w.wiping.Load() {
		w.waited = 0
		return false
	}
	w.waited++
	return w.waited > wipeAfter
}

// scrub takes what the store has out of the journal while more is written into it. It gives false where some of what was there
// when it began is left, for the next time.
func (w *Writer) scrub(ctx context.Context) bool {
	if w.options.Journal == "" {
		return true
	}
	w.order.Lock()
	defer w.order.Unlock()
	if w.journal == nil {
		return true
	}
	if w.scrubTo == 0 {
		w.scrubTo = w.journal.seq
	}
	clean, err := w.journal.scrub(w.moved.Load(), w.scrubTo)
	if err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "journal not emptied", slog.Any("err", err))
		return false
	}
	if clean {
		w.scrubTo = 0
	}
	return clean
}

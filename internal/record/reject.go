package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"mooring"
)

// reject sets aside a change that is safe in the journal and that the store refuses for itself: it would keep all that follow
// from the store, and its caller was told that it is safe.
func (w *Writer) reject(ctx context.Context, p *Pending, cause error) {
	path := w.options.Journal + "-rejected"
	attrs := []slog.Attr{slog.String("session", sessionOf(p.change).Short()), slog.String("file", path), slog.Any("err", cause)}
	if err := setAside(path, p); err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelError, "change refused by the store and lost: it could not be set aside", append(attrs, slog.Any("cause", err))...)
		return
	}
	w.options.Log.LogAttrs(ctx, slog.LevelError, "change refused by the store and set aside in a file", attrs...)
	if err := w.options.Store.Apply(ctx, []mooring.Change{&mooring.Applied{Seq: p.seq}}); err == nil {
		w.movedTo(ctx, p.seq)
	} // else the next change notes the place, or the next start sets the same one aside once more
}

// setAside appends a change to a file of frames like the journal's.
func setAside(path string, p *Pending) error {
	c, err := newCodec()
	if err != nil {
		return err
	}
	_, f, ok := ownCopy(p.change)
	if !ok {
		return fmt.Errorf("no frame for %T", p.change)
	}
	var buf bytes.Buffer
	if err = c.encode(&buf, f); err != nil {
		return err
	}
	c.seal(buf.Bytes(), p.seq)
	file, err := openPrivate(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = file.Write(buf.Bytes())
	return errors.Join(err, file.Sync(), file.Close())
}

func sessionOf(c mooring.Change) mooring.SessionID {
	switch c := c.(type) {
	case *mooring.Begin:
		return c.Session.ID
	case *mooring.Bind:
		return c.Pin.Session
	case *mooring.End:
		return c.Turn.Session
	}
	return ""
}

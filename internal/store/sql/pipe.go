package sqlstore

import (
	"context"
)

// Statement is one that is sent together with others.
type Statement struct {
	Query string
	Args  []any
	Dest  []any                // where its first row goes; nil where no row is wanted
	Then  func(rows int) error // is told how many rows it touched or gave, in the order of the statements; nil where that is no matter
}

// later runs a statement whose outcome nothing before the next one depends on. Where the database is behind a network it waits until one
// is run whose outcome is wanted, and both go there and back at once.
func (w *writer) later(ctx context.Context, query string, args ...any) error {
	return w.laterThen(ctx, nil, query, args...)
}

// laterThen is later for one that may end the transaction by how many rows it touched or gave.
func (w *writer) laterThen(ctx context.Context, then func(rows int) error, query string, args ...any) error {
	if w.dialect.Send != nil {
		w.waiting = append(w.waiting, Statement{Query: query, Args: known(args), Then: then})
		return nil
	}
	n, err := w.exec(ctx, query, args...)
	if err == nil && then != nil {
		err = then(n)
	}
	return err
}

// flush runs what waits.
func (w *writer) flush(ctx context.Context) error {
	if len(w.waiting) == 0 {
		return nil
	}
	list := w.waiting
	defer func() {
		clear(list) // contents are not to be held
		w.waiting = list[:0]
	}()
	return w.dialect.Send(ctx, w.conn, list)
}

// send runs a statement behind those that wait.
func (w *writer) send(ctx context.Context, dest []any, query string, args []any) (rows int, err error) {
	w.waiting = append(w.waiting, Statement{Query: query, Args: known(args), Dest: dest, Then: func(n int) error {
		rows = n
		return nil
	}})
	err = w.flush(ctx)
	return rows, err
}

// commit ends the transaction. What waits goes with it, unless its outcome may still be against it.
func (w *writer) commit(ctx context.Context) error {
	for i := range w.waiting {
		if w.waiting[i].Then == nil {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
		break
	}
	if err := w.later(ctx, "COMMIT"); err != nil {
		return err
	}
	return w.flush(ctx)
}

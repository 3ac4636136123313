package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"mooring"
)

// writer is the one connection that writes, with its prepared statements. Whoever holds the store's token may use it. Its
// methods give the database's errors as they are; Apply, Ping and Idle translate them.
type writer struct {
	db      *sql.DB
	dialect Dialect
	blobKey []byte
	conn    *sql.Conn // nil until the first use and after a failure
	stmts   map[string]*sql.Stmt
	waiting []Statement     // to be run before the next one, see later
	wipe    Wipe            // what the next checkpoint has to do
	unseen  int             // roughly how many bytes the log has grown by since the last look at it
	noted   []mooring.Event // of the batch, not numbered yet
	// refusals are what the tries of a batch so far have found out about its changes.
	refusals map[mooring.Change]error
	inserts  [eventRows + 1]string // the texts that write so many events, once they are made
}

const (
	// lookEvery is by how many bytes the log may grow between two looks at its size: asking the file system costs as much as a
	// statement.
	lookEvery = 8 << 20
	// pagesOfChange is what a change takes in the log besides its contents: half a dozen pages.
	pagesOfChange = 24 << 10
)

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn, w.stmts = conn, map[string]*sql.Stmt{}
	return nil
}

// drop gives the connection up for good: after a failure nobody knows the state that it is in.
func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	for _, stmt := range w.stmts {
		_ = stmt.Close() // the connection goes with them
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // tells the pool not to keep it
	_ = w.conn.Close()                                           // gone already
	w.conn, w.stmts, w.waiting = nil, nil, nil
}

func (w *writer) close() error {
	if w.conn == nil {
		return nil
	}
	var err error
	if w.dialect.Checkpoint != nil {
		w.wipe = WipeLog
		err = w.checkpoint(context.Background())
	}
	for _, stmt := range w.stmts {
		err = errors.Join(err, stmt.Close())
	}
	err = errors.Join(err, w.conn.Close())
	w.conn, w.stmts = nil, nil
	return err
}

// transaction runs body between the dialect's begin and commit. After an error nothing of it stays and the connection is to be
// dropped.
func (w *writer) transaction(ctx context.Context, body func() error) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	err := w.later(ctx, w.dialect.Begin)
	if err == nil {
		err = body()
	}
	if err == nil {
		err = w.commit(ctx)
	}
	if err == nil {
		return nil
	}
	clear(w.waiting)
	w.waiting = w.waiting[:0]
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK") // the caller drops the connection, which rolls back too
	return err
}

func (w *writer) probe(ctx context.Context) error {
	return w.transaction(ctx, func() error {
		writable := false
		if _, err := w.first(ctx, []any{&writable}, w.dialect.Probe); err != nil {
			return err
		}
		if !writable {
			return Unavailable(errors.New("the database is read-only"))
		}
		return nil
	})
}

func (w *writer) checkpoint(ctx context.Context) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	if err := w.dialect.Checkpoint(ctx, w.conn, w.wipe); err != nil {
		return err
	}
	w.wipe = KeepLog
	return nil
}

// keepLogSmall forces the checkpoint that no idle moment came for. The changes are committed: a failure is the next
// checkpoint's to report.
func (w *writer) keepLogSmall(ctx context.Context, batch []mooring.Change) {
	if w.dialect.Checkpoint == nil {
		return
	}
	for _, change := range batch {
		w.unseen += pagesOfChange + contentOf(change)
	}
	if w.unseen < lookEvery {
		return
	}
	w.unseen = 0
	if !w.dialect.Full() {
		return
	}
	w.wipe = WipeLog
	_ = w.checkpoint(ctx)
}

// contentOf is the size of the messages that a change brings.
func contentOf(change mooring.Change) int {
	n := 0
	switch c := change.(type) {
	case *mooring.Begin:
		for i := range c.Messages {
			n += len(c.Messages[i].Content)
		}
	case *mooring.End:
		if c.Answer != nil {
			n = len(c.Answer.Content)
		}
	case *mooring.Index:
		for i := range c.Entries {
			n += len(c.Entries[i].Terms)
		}
	case *mooring.Compact:
		n = c.Pages << 12
	}
	return n
}

func (w *writer) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := w.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = stmt
	return stmt, nil
}

// exec gives the number of rows that a statement touched.
func (w *writer) exec(ctx context.Context, query string, args ...any) (int, error) {
	if w.dialect.Send != nil {
		return w.send(ctx, nil, query, args)
	}
	stmt, err := w.prepared(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, known(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// first scans the first row that a statement gives; false where there is none.
func (w *writer) first(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	if w.dialect.Send != nil {
		n, err := w.send(ctx, dest, query, args)
		return n > 0, err
	}
	stmt, err := w.prepared(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(ctx, known(args)...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// pairs lists rows of two texts, such as tenant and id.
func (w *writer) pairs(ctx context.Context, query string, args ...any) ([][2]string, error) {
	var list [][2]string
	err := w.each(ctx, func(row scanner) error {
		var a, b []byte
		err := row.Scan(&a, &b)
		list = append(list, [2]string{string(a), string(b)})
		return err
	}, query, args...)
	return list, err
}

// each hands every row that a statement gives to scan.
func (w *writer) each(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	stmt, err := w.prepared(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, known(args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	return nil
}

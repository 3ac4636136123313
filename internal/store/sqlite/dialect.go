package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	driver "modernc.org/sqlite"

	sqlstore "mooring/internal/store/sql"
)

func dialect(path string) sqlstore.Dialect {
	return sqlstore.Dialect{
		Begin: "BEGIN IMMEDIATE",
		Probe: "SELECT TRUE", // the begin has taken the write lock
		Match: `(title LIKE $2 ESCAPE '\' OR instr(client_key, $3) > 0)`,
		Among: `t.tenant IN (SELECT tenant FROM hop WHERE tenant IS NOT NULL)`,
		Newest: `chain AS c ON c.tenant = $1 AND c.digest = k.digest AND c.kind = n.kind AND c.message >= coalesce((SELECT m.message FROM chain AS m
			WHERE m.tenant = $1 AND m.digest = k.digest AND m.kind = n.kind ORDER BY m.message DESC LIMIT 1 OFFSET $2 - 1), '')`,
		Search:      searching(),
		Alone:       true,
		Uncancelled: true, // the busy timeout ends a wait; watching a context costs a goroutine for each statement
		Checkpoint:  checkpoint,
		Full: func() bool {
			info, err := os.Stat(path + "-wal")
			return err == nil && info.Size() > walMax
		},
		Explain: explain,
	}
}

// checkpoint never waits long for a reader: what it cannot do now is done next time.
func checkpoint(ctx context.Context, conn *sql.Conn, wipe sqlstore.Wipe) error {
	if wipe == sqlstore.KeepLog {
		_, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		return err
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 250"); err != nil {
		return err
	}
	var busy, logged, moved int
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &moved)
	if err == nil && busy != 0 {
		err = sqlstore.Unavailable(errors.New("a reader keeps the log from being emptied"))
	}
	_, restored := conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000")
	return errors.Join(err, restored)
}

// The primary result codes that say that the file cannot be used now (https://sqlite.org/rescode.html).
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// explain names SQLite's result code: its messages name tables and columns, and the constraint that failed, never a value.
func explain(err error) (sqlstore.Trouble, error) {
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return sqlstore.Broken, fmt.Errorf("unexpected %T", err)
	}
	cause := errors.New(failure.Error())
	switch failure.Code() & 0xff {
	case codeBusy, codeLocked, codeReadOnly, codeIO, codeCorrupt, codeFull, codeCantOpen, codeNotADB:
		return sqlstore.Down, cause
	}
	return sqlstore.Broken, cause
}

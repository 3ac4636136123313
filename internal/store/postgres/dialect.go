package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	sqlstore "mooring/internal/store/sql"
)

func dialect(conns int) sqlstore.Dialect {
	return sqlstore.Dialect{
		Begin: "BEGIN",
		Probe: "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'",
		Match: `(title ILIKE $2 ESCAPE '\' OR position($3 IN client_key) > 0)`,
		// Its planner would go through the whole index for a join, and does not for a list.
		Among: `t.tenant = ANY (ARRAY(SELECT tenant FROM hop WHERE tenant IS NOT NULL))`,
		Newest: `LATERAL (SELECT kind, digest, session, message, sketch FROM chain WHERE tenant = $1 AND digest = k.digest AND kind = n.kind
			ORDER BY message DESC LIMIT $2) AS c`,
		LockNames: `SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) WITH ORDINALITY AS names(k, n) ORDER BY n`,
		Lock: `SELECT 1 FROM session WHERE (tenant, id) IN (SELECT * FROM unnest($1::bytea[], $2::text[]))
			ORDER BY tenant, id FOR UPDATE`,
		Sweep:   `SELECT pg_try_advisory_xact_lock(7093541226)`, // any number that nothing else locks
		Clock:   "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
		Search:  searching(),
		Conns:   conns,
		Send:    send,
		Explain: explain,
	}
}

// send puts statements into one flight. The server goes through them until one fails; what comes after that one is not run. An end that
// an outcome puts to them is no failure to pgx, which would prepare all of them anew.
func send(ctx context.Context, conn *sql.Conn, list []sqlstore.Statement) error {
	var b pgx.Batch
	var ended error
	for i := range list {
		q := b.Queue(list[i].Query, list[i].Args...)
		if list[i].Then == nil {
			continue
		}
		q.Fn = func(results pgx.BatchResults) error {
			n, err := outcome(results, list[i].Dest)
			if err == nil && ended == nil {
				ended = list[i].Then(n)
			}
			return err
		}
	}
	err := conn.Raw(func(c any) error {
		pg, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("send to a connection that is a %T", c)
		}
		return pg.Conn().SendBatch(ctx, &b).Close()
	})
	return cmp.Or(ended, err)
}

// outcome reads what a statement gave: its first row, and how many rows it gave or touched.
func outcome(results pgx.BatchResults, dest []any) (int, error) {
	rows, err := results.Query()
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if len(dest) > 0 && rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return 0, err
		}
	}
	rows.Close()
	return int(rows.CommandTag().RowsAffected()), rows.Err()
}

// explain keeps out of an error what the client may have sent. The server's messages quote values for errors of data (classes
// 22, 23, 42), pgx's own for what it cannot encode; those of a database that is down do not.
func explain(err error) (sqlstore.Trouble, error) {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainCode(refused)
	}
	if unreached, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return sqlstore.Down, errors.New(unreached.Error())
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) {
		return sqlstore.Down, fmt.Errorf("connection lost (%T)", err)
	}
	return sqlstore.Broken, fmt.Errorf("unexpected %T", err)
}

const (
	codeReadOnly     = "25006"
	codeLockTimeout  = "55P03"
	codeSerialize    = "40001"
	codeDeadlock     = "40P01"
	codeInsufficient = "42501" // rights taken away, as of a demoted role
)

func explainCode(e *pgconn.PgError) (sqlstore.Trouble, error) {
	switch e.Code {
	case codeSerialize, codeDeadlock:
		return sqlstore.Collided, fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message)
	case codeReadOnly, codeLockTimeout, codeInsufficient:
		return sqlstore.Down, fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message)
	}
	for _, class := range []string{"08", "25", "28", "3D", "53", "57", "58", "XX"} {
		if strings.HasPrefix(e.Code, class) {
			return sqlstore.Down, fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message)
		}
	}
	return sqlstore.Broken, fmt.Errorf("SQLSTATE %s on %s %s", e.Code, e.TableName, e.ConstraintName)
}

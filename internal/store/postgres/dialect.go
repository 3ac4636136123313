package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	sqlstore "mooring/internal/store/sql"
)

func dialect(conns int) sqlstore.Dialect {
	return sqlstore.Dialect{
		Begin: "BEGIN",
		Probe: "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'",
		Match: `(title ILIKE $2 ESCAPE '\' OR position($3 IN client_key) > 0)`,
		Lock: `SELECT 1 FROM session WHERE (tenant, id) IN (SELECT * FROM unnest($1::bytea[], $2::text[]))
			ORDER BY tenant, id FOR UPDATE`,
		Conns:   conns,
		Explain: explain,
	}
}

// explain keeps out of an error what the client may have sent. The server's messages quote values for errors of data (classes
// 22, 23, 42), pgx's own for what it cannot encode; those of a database that is down do not.
func explain(err error) (error, sqlstore.Trouble) {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return explainCode(refused)
	}
	var unreached *pgconn.ConnectError
	if errors.As(err, &unreached) {
		return errors.New(unreached.Error()), sqlstore.Down
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) {
		return fmt.Errorf("connection lost (%T)", err), sqlstore.Down
	}
	return fmt.Errorf("unexpected %T", err), sqlstore.Broken
}

const (
	codeReadOnly     = "25006"
	codeLockTimeout  = "55P03"
	codeSerialize    = "40001"
	codeDeadlock     = "40P01"
	codeInsufficient = "42501" // rights taken away, as of a demoted role
)

func explainCode(e *pgconn.PgError) (error, sqlstore.Trouble) {
	switch e.Code {
	case codeSerialize, codeDeadlock:
		return fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message), sqlstore.Collided
	case codeReadOnly, codeLockTimeout, codeInsufficient:
		return fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message), sqlstore.Down
	}
	for _, class := range []string{"08", "25", "28", "3D", "53", "57", "58", "XX"} {
		if strings.HasPrefix(e.Code, class) {
			return fmt.Errorf("SQLSTATE %s: %s", e.Code, e.Message), sqlstore.Down
		}
	}
	return fmt.Errorf("SQLSTATE %s on %s %s", e.Code, e.TableName, e.ConstraintName), sqlstore.Broken
}

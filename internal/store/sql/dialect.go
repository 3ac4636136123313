package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"mooring"
)

// Dialect is all that the two databases do differently.
type Dialect struct {
	Begin string // starts a writing transaction
	Probe string // one flag: whether this connection may write
	Match string // condition that a session's title or key holds a text: $2 is the LIKE pattern, $3 the text's bytes
	// Among is the condition that t.tenant is one of those that turnTenants finds, by one look into the index for each.
	Among string
	// Newest is a join, behind one with a digest k and a kind n, with the newest $2 entries c of the tenant $1 in the table chain. It goes in the
	// order of that table's key: a digest that thousands have costs no more than its newest entries.
	Newest string
	// LockNames locks the numbers of the array $1 in its order; empty as for Lock.
	LockNames string
	Lock      string // locks the sessions of the arrays $1 (tenants) and $2 (ids) in a fixed order; empty where one writer has the whole database

	// Sweep gives one flag: whether this transaction alone removes old sessions now. Empty where one process has the database.
	Sweep string

	Search SearchDialect

	Conns int    // idle read connections to keep; 0 where those of a lost database need no dropping
	Alone bool   // one process has the database for itself: every other replica is dead
	Clock string // the time in microseconds since 1970 by the database's clock, which decides where several processes share it; empty where one has it

	// Uncancelled says that a statement ends by itself, so that the cost of watching a context can be saved.
	Uncancelled bool

	// Checkpoint moves committed pages into the main file; wipe also leaves none behind. Nil where the database does it itself.
	Checkpoint func(ctx context.Context, conn *sql.Conn, wipe Wipe) error
	// Full says that Checkpoint cannot wait for an idle moment. Nil where Checkpoint is.
	Full func() bool

	// Send runs statements in their order, there and back at once, up to the first one that fails, whose error it gives. Nil where each
	// is run as soon as it comes.
	Send func(ctx context.Context, conn *sql.Conn, list []Statement) error

	// Explain gives an error without any bound value in it and says what it means.
	Explain func(err error) (Trouble, error)
}

// Wipe says how thorough a checkpoint is.
type Wipe int

// KeepLog reuses the log's file, WipeLog empties it, so that deleted texts are gone from it.
const (
	KeepLog Wipe = iota
	WipeLog
)

// Trouble is what an error of the database means to the caller.
type Trouble int

// Broken is a fault of this program, Down a database that cannot be reached or written, Collided a transaction that
// another one made fail and that can be tried again.
const (
	Broken Trouble = iota
	Down
	Collided
)

const safeUnavailable = "The session store cannot be reached; try again."

// Unavailable is the error of a store that cannot be reached or written.
func Unavailable(cause error) error {
	return &mooring.Error{Code: mooring.CodeStoreUnavailable, Safe: safeUnavailable, Err: cause}
}

func (d Dialect) writing(ctx context.Context) context.Context {
	if d.Uncancelled {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// failed turns an error of the database into one of the house. A caller that went away keeps its context.Canceled.
func (d Dialect) failed(err error, tried string) error {
	var own *mooring.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", tried, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return Unavailable(fmt.Errorf("%s: %w", tried, context.DeadlineExceeded))
	case errors.Is(err, sql.ErrConnDone):
		return Unavailable(fmt.Errorf("%s: %w", tried, sql.ErrConnDone))
	}
	trouble, cause := d.Explain(err)
	cause = fmt.Errorf("%s: %w", tried, cause)
	if trouble == Broken {
		return &mooring.Error{Code: mooring.CodeInternal, Err: cause}
	}
	return Unavailable(cause)
}

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	sqlstore "mooring/internal/store/sql"
)

const (
	// quiet is how long a connection that listens may say nothing before it is asked whether it is still there.
	quiet = 10 * time.Second
	// senders is how many messages may be on their way at once.
	senders = 2
)

// Bus carries short messages between the replicas of one database, by its notifications. Nothing of a message is kept anywhere: who
// does not listen just then never hears it. It takes one connection to listen and up to two to send.
type Bus struct {
	listen *pgx.ConnConfig
	send   *sql.DB
}

// NewBus prepares a bus; it connects when it is used.
func NewBus(dsn string) (*Bus, error) {
	config, err := configOf(dsn)
	if err != nil {
		return nil, err
	}
	send := config.Copy()
	send.RuntimeParams["synchronous_commit"] = "off" // there is nothing in them to be kept
	return &Bus{listen: config, send: pool(send, senders, nil)}, nil
}

const notify = `SELECT pg_notify($1, $2)`

// Send hands a message to whoever listens under a name. Of text and name together at most 8,000 bytes go through.
func (b *Bus) Send(ctx context.Context, name, text string) error {
	if _, err := b.send.ExecContext(ctx, notify, name, text); err != nil {
		return down(err, "send to a replica")
	}
	return nil
}

// Listen hands over what is sent under a name until the context ends or the connection is lost, and says why. ready is called once
// nothing that is sent from then on is missed.
func (b *Bus) Listen(ctx context.Context, name string, ready func(), take func(text string)) error {
	conn, err := pgx.ConnectConfig(ctx, b.listen.Copy())
	if err != nil {
		return down(err, "listen to replicas")
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(late) // nothing hangs on it any more
	}()
	if _, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return down(err, "listen to replicas")
	}
	ready()
	for {
		n, err := next(ctx, conn)
		switch {
		case err != nil:
			return down(err, "listen to replicas")
		case n != "":
			take(n)
		}
	}
}

// next waits for a message for a while; empty where none came and the connection is well.
func next(ctx context.Context, conn *pgx.Conn) (string, error) {
	wait, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	n, err := conn.WaitForNotification(wait)
	switch {
	case err == nil:
		return n.Payload, nil
	case ctx.Err() != nil || wait.Err() == nil:
		return "", err
	}
	there, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	return "", conn.Ping(there)
}

// down is the error of a bus that cannot be used now.
func down(err error, tried string) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", tried, context.Canceled)
	}
	_, cause := explain(err)
	return sqlstore.Unavailable(fmt.Errorf("%s: %w", tried, cause))
}

// Close ends the connections that messages are sent over.
func (b *Bus) Close() error { return b.send.Close() }

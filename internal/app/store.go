package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/store/postgres"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
	"mooring/internal/telemetry"
)

// Store is the turn log as all rooms together need it.
type Store = *sqlstore.Store

// OpenStore opens the configured store to serve from it and brings its schema up to date.
func OpenStore(ctx context.Context, cfg config.Config, secret []byte) (Store, error) {
	return openAs(ctx, cfg, sqlite.Options{BlobKey: secret})
}

func openAs(ctx context.Context, cfg config.Config, o sqlite.Options) (Store, error) {
	var store Store
	var err error
	if cfg.Store.Postgres() {
		store, err = postgres.Open(ctx, postgres.Options{DSN: cfg.Store.Reveal(), BlobKey: o.BlobKey})
	} else {
		o.Path, o.Durability = cfg.Store.File(), sqlite.Durability(cfg.Durability)
		store, err = sqlite.Open(ctx, o)
	}
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return nil, &config.Error{Key: "store", Msg: fmt.Sprintf("%s %v", cfg.Store, sqlite.ErrInUse)}
	case err != nil:
		return nil, &config.Error{Key: "store", Msg: fmt.Sprintf("cannot open %s: %v", cfg.Store, err)}
	}
	return store, nil
}

// journalBeside gives the path beside which the journal stands: that of the file itself, under whatever name it is opened.
func journalBeside(path string) string {
	if path == "" {
		return "" // PostgreSQL: replicas have to see each other's turns
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// secretBytes is the size of a secret that is made here.
const secretBytes = 32

// secretOf gives the configured secret, or the one kept beside an SQLite store, which is made once.
func secretOf(cfg *config.Config) ([]byte, error) {
	if cfg.Secret != "" {
		return []byte(cfg.Secret.Reveal()), nil
	}
	path := secretBeside(cfg.Store.File())
	kept, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSecret(path); err == nil || errors.Is(err, fs.ErrExist) {
			kept, err = readSecret(path)
		}
	}
	if err != nil {
		return nil, &config.Error{Key: "store", Msg: fmt.Sprintf("cannot keep a secret beside the store: %v", err)}
	}
	return kept, nil
}

// secretBeside is where the secret of a store file is kept.
func secretBeside(store string) string { return strings.TrimSuffix(store, ".db") + ".secret" }

func readSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return nil, err
	}
	secret := []byte(strings.TrimSpace(string(text)))
	if len(secret) < secretBytes {
		return nil, fmt.Errorf("%s holds no secret", path)
	}
	return secret, nil
}

// makeSecret writes a new secret that only its owner may read. It appears under its name whole or not at all.
func makeSecret(path string) error {
	raw := make([]byte, secretBytes)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	temp := path + "." + hex.EncodeToString(raw[:4])
	defer os.Remove(temp) //nolint:errcheck // the link below is what stays
	if err := writeSynced(temp, []byte(hex.EncodeToString(raw)+"\n")); err != nil {
		return err
	}
	return os.Link(temp, path)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the path is the operator's own
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// CheckStore opens the store, reads from it and closes it. It works beside a server that has the store, too.
func CheckStore(ctx context.Context, cfg config.Config) (found StoreFindings, err error) {
	secret, err := secretOf(&cfg)
	if err != nil {
		return found, err
	}
	store, err := openAs(ctx, cfg, sqlite.Options{BlobKey: secret, Look: true})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, store.Close()) }() //nolint:contextcheck // closing is not cut short
	ctx, cancel := context.WithTimeout(ctx, storeCheckTimeout)
	defer cancel()
	if err = store.Ping(ctx); err != nil {
		return found, err
	}
	if found.Drained, err = store.Drained(ctx); err != nil {
		return found, err
	}
	if cfg.Edge != nil {
		var book mooring.SlotBook
		if book, err = store.Slots(ctx); err != nil {
			return found, err
		}
		found.Claims = book.Claims
	}
	found.Stray, err = store.Stray(ctx)
	return found, err
}

const storeCheckTimeout = 10 * time.Second

// lessonsHold is how long what was read of learned headers holds: other replicas of a shared database learn too.
func lessonsHold(cfg *config.Config) time.Duration {
	if cfg.Store.Postgres() {
		return 30 * time.Second
	}
	return 0
}

// eventPoll is how soon listeners hear of what other processes have changed. A file is changed by this one alone, which tells them.
func eventPoll(cfg *config.Config) time.Duration {
	if cfg.Store.Postgres() {
		return time.Second
	}
	return time.Minute
}

// timedStore counts commits, and says what was committed.
type timedStore struct {
	Store
	metrics   *telemetry.Metrics
	committed func(batch []mooring.Change)
	clock     *clock
}

// Apply commits a batch and says how long it took.
func (s timedStore) Apply(ctx context.Context, batch []mooring.Change) error {
	start := time.Now()
	err := s.Store.Apply(ctx, batch)
	s.metrics.Committed(len(batch), time.Since(start), err)
	if err == nil {
		s.committed(batch)
	}
	return err
}

// committed tells those who follow what is in the store.
func (a *App) committed(batch []mooring.Change) {
	if slices.ContainsFunc(batch, bringsMessages) {
		a.index.Wake()
	}
	a.hub.Changed(batch)
	a.countBegun(batch)
}

func bringsMessages(c mooring.Change) bool {
	switch c := c.(type) {
	case *mooring.Begin:
		return len(c.Messages) > 0
	case *mooring.End:
		return c.Answer != nil
	}
	return false
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/store/sqlite" //nolint:depguard // it measures the store itself
)

const (
	fewSessions  = 1_000
	manySessions = 1_000_000
	fillBatch    = 2_000
	lookups      = 2_000
	lookupRounds = 20
)

// opened is a store as a lookup needs it.
type opened interface {
	Apply(ctx context.Context, batch []mooring.Change) error
	AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error)
	Session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error)
	Close() error
}

// lookup says what finding a session by its alias costs where no memory knows it, among few sessions and among many.
func lookup(ctx context.Context, r *rig, o options, table *strings.Builder) error {
	if !wanted(o, "lookup") {
		return nil
	}
	var stores [2]opened
	sizes := [2]int{fewSessions, manySessions}
	for i, n := range sizes {
		store, err := filled(ctx, filepath.Join(r.dir, fmt.Sprintf("lookup-%d.db", n)), n)
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // only read from here on
		stores[i] = store
	}
	fmt.Fprint(table, "\n## A session by its alias, from the store\n\n| figure, median of rounds | 1,000 sessions, us | 1,000,000 sessions, us | ratio |\n|---|---|---|---|\n")
	var p50, p99 [3][]float64
	for range lookupRounds {
		times, err := inTurns(ctx, stores, sizes)
		if err != nil {
			return err
		}
		p50, p99 = noted(p50, times, 0.5), noted(p99, times, 0.99)
	}
	for at, values := range [][3][]float64{p50, p99} {
		for i := range values {
			slices.Sort(values[i])
		}
		fmt.Fprintf(table, "| %s | %s | %s | %s |\n", []string{"p50", "p99"}[at], digits(median(values[0])), digits(median(values[1])), digits(median(values[2])))
	}
	return nil
}

// inTurns looks sessions up in both stores one after the other, so that both see the same machine.
func inTurns(ctx context.Context, stores [2]opened, sizes [2]int) (times [2][]float64, err error) {
	for range lookups {
		for i, store := range stores {
			n := rand.IntN(sizes[i]) //nolint:gosec // any session will do
			began := time.Now()      //nolint:forbidigo // a program of its own
			if err := find(ctx, store, n); err != nil {
				return times, err
			}
			times[i] = append(times[i], float64(time.Since(began).Nanoseconds())/1000)
		}
	}
	return times, nil
}

// noted adds a quantile of both, and their ratio.
func noted(to [3][]float64, times [2][]float64, q float64) [3][]float64 {
	var v [2]float64
	for i := range times {
		slices.Sort(times[i])
		v[i] = part(times[i], q)
		to[i] = append(to[i], v[i])
	}
	to[2] = append(to[2], v[1]/v[0])
	return to
}

// part gives a quantile of sorted values.
func part(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }

// filled makes a store of n sessions and opens it anew.
func filled(ctx context.Context, path string, n int) (opened, error) { //nolint:ireturn // as the caller needs it
	store, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return nil, err
	}
	for first := 0; first < n; first += fillBatch {
		var batch []mooring.Change
		for i := first; i < min(first+fillBatch, n); i++ {
			batch = append(batch, sessionOf(i))
		}
		if err := store.Apply(ctx, batch); err != nil {
			return nil, errors.Join(err, store.Close())
		}
		if first%100_000 == 0 && n == manySessions {
			fmt.Fprintf(os.Stderr, "filling: %d of %d sessions\n", first, n)
		}
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Path: path})
}

// keyOf scatters as the ids of clients do.
func keyOf(i int) string {
	sum := sha256.Sum256(fmt.Append(nil, i))
	return hex.EncodeToString(sum[:16])
}

func sessionOf(i int) *mooring.Begin {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", i))
	at := time.UnixMilli(int64(1_700_000_000_000 + i))
	return &mooring.Begin{
		New: true,
		Session: mooring.Session{
			Tenant: mooring.LocalTenant, ID: id, Key: keyOf(i), FriendlyID: keyOf(i)[:8], Title: "how to moor a boat", Client: "bench", Root: id,
			Relation: mooring.RelationMain, State: mooring.Completed, Upstream: "north", Models: []string{"model-a"}, CreatedAt: at, UpdatedAt: at,
		},
		Aliases: []mooring.Alias{{Class: mooring.ClassAny, Value: keyOf(i)}},
	}
}

func find(ctx context.Context, store opened, i int) error {
	hits, err := store.AliasHits(ctx, mooring.LocalTenant, []mooring.Alias{{Class: mooring.ClassAny, Value: keyOf(i)}})
	if err != nil {
		return err
	}
	if len(hits) != 1 {
		return fmt.Errorf("%d sessions have the alias of session %d", len(hits), i)
	}
	_, err = store.Session(ctx, mooring.LocalTenant, hits[0].Session)
	return err
}

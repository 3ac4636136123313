package e2e_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"mooring"
	"mooring/internal/store/sqlite"
)

const sessions = 50_000

// prepare fills a store, which is at its path once it is whole.
func prepare(ctx context.Context, path string) error {
	part := path + ".part"
	if err := fill(ctx, part); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// fill makes a store with so many sessions that a table could not have them all in the document, each with one turn that is over.
func fill(ctx context.Context, path string) error {
	store, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	clients := []string{"claude-code", "codex", "opencode", "aider"}
	start := time.Now().Add(-sessions * time.Minute) // younger than what is kept
	const batch = 2000
	for from := 0; from < sessions; from += batch {
		var changes []mooring.Change
		for i := from; i < from+batch; i++ {
			changes = append(changes, one(i, clients[i%len(clients)], start.Add(time.Duration(i)*time.Minute))...)
		}
		if err := store.Apply(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

func one(i int, client string, at time.Time) []mooring.Change {
	id := func(kind string) string { return fmt.Sprintf("%s_01JAAAAAAAAAAAAAAAAA%06d", kind, i) }
	key := fmt.Sprintf("bulk-%06d", i)
	session := mooring.SessionID(id("ses"))
	turn := mooring.Turn{
		Tenant: "local", ID: mooring.TurnID(id("trn")), Session: session, Kind: mooring.KindMain, Protocol: mooring.Chat, Model: "fake-1",
		State: mooring.Running, Upstream: "fake", Identity: "header:x-session-id", StartedAt: at,
	}
	begun := &mooring.Begin{
		New: true,
		Session: mooring.Session{
			Tenant: "local", ID: session, Root: session, Key: key, FriendlyID: key, Title: fmt.Sprintf("Harbour plan %d", i), Client: client,
			Relation: mooring.RelationMain, State: mooring.Running, Upstream: "fake", Models: []string{"fake-1"}, CreatedAt: at, UpdatedAt: at,
		},
		Aliases: []mooring.Alias{{Class: mooring.ClassGeneric, Value: key}},
		Turn:    turn,
	}
	ended := turn
	ended.State, ended.EndedAt, ended.Status = mooring.Completed, at.Add(time.Second), 200
	ended.Usage = mooring.Usage{Input: mooring.Count(1000), Output: mooring.Count(200)}
	return []mooring.Change{begun, &mooring.End{Turn: ended}}
}

package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"mooring"
)

// Of replicas that begin the same chat anew at once each makes its session, and the chat's key means the last one alone.
func TestResetsOfReplicasAtOnce(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_resets")
	north, south := open(t, dsn), open(t, dsn)
	for n := range 40 {
		chat := fmt.Sprintf("chat-%d", n)
		first := newSession(fmt.Sprintf("ses_%d", n), chat)
		first.Session.Key = chat
		if err := north.Apply(t.Context(), []mooring.Change{first}); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for name, store := range map[string]interface {
			Apply(ctx context.Context, batch []mooring.Change) error
		}{"north": north, "south": south} {
			both.Go(func() {
				c := newSession(fmt.Sprintf("ses_%d_%s", n, name), chat)
				c.Session.Key = chat
				own := "next-" + string(c.Session.ID)
				c.Reset = &mooring.Reset{Key: own, Alias: mooring.Alias{Class: mooring.ClassAny, Value: own}}
				if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Err != nil {
					t.Errorf("reset in the %s: %v, %v", name, err, c.Err)
				}
			})
		}
		both.Wait()
		list, err := north.SessionsByKey(t.Context(), "acme", chat)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d sessions have the chat's key, %v; want one", chat, len(list), err)
		}
		hits, err := north.AliasHits(t.Context(), "acme", first.Aliases)
		if err != nil || len(hits) != 1 || hits[0].Session != list[0].ID {
			t.Fatalf("%s: the chat's name is on %v, %v; want %s", chat, hits, err, list[0].ID)
		}
	}
}

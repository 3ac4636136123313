package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"mooring"
	"mooring/internal/store/storetest"
)

// C-4: replicas that write for the same tenants at once, in any order, leave no gap in a tenant's numbers that fills later: a
// reader that goes on behind the last number it saw misses nothing. None of them makes another fail.
func TestEventsOfReplicasAtOnce(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_events")
	const replicas, batches = 4, 60
	tenants := []mooring.Tenant{"acme", "globex", "initech"}
	reader := open(t, dsn)
	var writers sync.WaitGroup
	for r := range replicas {
		store := open(t, dsn)
		writers.Go(func() {
			for n := range batches {
				var batch []mooring.Change
				for i := range tenants { // another order each time
					c := newSession(fmt.Sprintf("ses_%d_%d_%d", r, n, i), fmt.Sprintf("%d-%d-%d", r, n, i))
					c.Session.Tenant = tenants[(i+r+n)%len(tenants)]
					batch = append(batch, c)
				}
				if err := store.Apply(t.Context(), batch); err != nil {
					t.Errorf("Apply: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() {
		writers.Wait()
		close(written)
	}()
	seen := map[mooring.Tenant]int64{}
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		for _, who := range tenants {
			seen[who] = readOn(t, reader, who, seen[who])
		}
	}
	for _, who := range tenants {
		if seen[who] != 2*replicas*batches {
			t.Errorf("%s: %d events seen, want %d", who, seen[who], 2*replicas*batches)
		}
	}
}

// readOn reads all that follows a number, and gives the last one.
func readOn(t *testing.T, reader storetest.Store, who mooring.Tenant, number int64) int64 {
	t.Helper()
	list, err := reader.EventsAfter(t.Context(), who, number, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Number != number+1 {
			t.Fatalf("%s: number %d came after %d", who, e.Number, number)
		}
		number = e.Number
	}
	return number
}

package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/upstream"
)

// table is a store's table of drained upstreams.
type table struct {
	mu   sync.Mutex
	rows map[mooring.UpstreamName]time.Time
	gone error
}

func (s *table) read(context.Context) (map[mooring.UpstreamName]time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows), s.gone
}

func (s *table) commit(_ context.Context, c mooring.Change) error {
	d, _ := c.(*mooring.Drain)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone != nil {
		return s.gone
	}
	if d.At.IsZero() {
		delete(s.rows, d.Upstream)
	} else {
		s.rows[d.Upstream] = d.At
	}
	return nil
}

func (s *table) fail(err error) {
	s.mu.Lock()
	s.gone = err
	s.mu.Unlock()
}

// replica is a fleet of u1 and u2 with its Drains on a table.
func replica(t *testing.T, s *table, every time.Duration) (*upstream.Fleet, *upstream.Drains, *bytes.Buffer) {
	t.Helper()
	f := upstream.NewFleet([]*upstream.Upstream{server(t, upstream.Spec{Name: "u1"}), server(t, upstream.Spec{Name: "u2"})})
	var log bytes.Buffer
	d := upstream.NewDrains(upstream.DrainOptions{
		Fleet: f, Read: s.read, Commit: s.commit, Every: every, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Start()
	return f, d, &log
}

func TestDrainHoldsOnEveryReplicaAndAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &table{rows: map[mooring.UpstreamName]time.Time{}}
		here, drains, _ := replica(t, s, time.Second)
		there, other, _ := replica(t, s, time.Second)
		defer drains.Close()
		defer other.Close()
		since := time.Now()
		if err := drains.Drain(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
		if !here.Get("u1").Drained() || here.Get("u2").Drained() || !here.DrainedSince("u1").Equal(since) {
			t.Errorf("u1 %v since %v, u2 %v; want u1 alone, at once", here.Get("u1").Drained(), here.DrainedSince("u1"), here.Get("u2").Drained())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !there.Get("u1").Drained() {
			t.Error("the other replica does not know after a second")
		}
		again, third, _ := replica(t, s, 0) // as after a restart
		defer third.Close()
		if !again.Get("u1").Drained() {
			t.Error("a replica that starts does not know")
		}
		if err := other.Resume(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if here.Get("u1").Drained() || there.Get("u1").Drained() {
			t.Error("still drained after it was resumed elsewhere")
		}
	})
}

func TestDrainOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := &table{rows: map[mooring.UpstreamName]time.Time{}}
	_, d, _ := replica(t, s, 0)
	if err := d.Drain(t.Context(), "nobody"); mooring.CodeOf(err) != mooring.CodeNotFound || len(s.rows) != 0 {
		t.Errorf("%v with %d rows, want not_found and none", err, len(s.rows))
	}
	s.fail(mooring.Errorf(mooring.CodeStoreUnavailable, "away"))
	if err := d.Drain(t.Context(), "u1"); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		t.Errorf("%v, want the store's own error", err)
	}
}

// A read that takes long says what was: what was read after it began holds.
func TestSlowReadSaysNothingNew(t *testing.T) {
	t.Parallel()
	s := &table{rows: map[mooring.UpstreamName]time.Time{}}
	f := upstream.NewFleet([]*upstream.Upstream{server(t, upstream.Spec{Name: "u1"})})
	began, end := make(chan struct{}), make(chan struct{})
	slow := func(ctx context.Context) (map[mooring.UpstreamName]time.Time, error) {
		rows, err := s.read(ctx)
		if len(rows) == 0 { // the first one
			close(began)
			<-end
		}
		return rows, err
	}
	d := upstream.NewDrains(upstream.DrainOptions{Fleet: f, Read: slow, Commit: s.commit, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	done := make(chan error)
	go func() { done <- d.Load(t.Context()) }()
	<-began
	if err := d.Drain(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !f.Get("u1").Drained() {
		t.Error("a read from before the drain has ended it")
	}
}

func TestDrainOutlivesAReload(t *testing.T) {
	t.Parallel()
	s := &table{rows: map[mooring.UpstreamName]time.Time{}}
	f, d, _ := replica(t, s, 0)
	if err := d.Drain(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	f.Replace([]*upstream.Upstream{server(t, upstream.Spec{Name: "u1", Weight: 3})})
	if !f.Get("u1").Drained() {
		t.Error("another weight has ended the drain")
	}
	f.Replace([]*upstream.Upstream{server(t, upstream.Spec{Name: "u2"})})
	f.Replace([]*upstream.Upstream{server(t, upstream.Spec{Name: "u1", URL: "http://127.0.0.1:9"})})
	if !f.Get("u1").Drained() {
		t.Error("the name came back, and is not drained any more")
	}
}

func TestDrainsHoldWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &table{rows: map[mooring.UpstreamName]time.Time{"u2": time.Now()}}
		f, d, log := replica(t, s, time.Second)
		s.fail(errors.New("no route"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.Close()
		if !f.Get("u2").Drained() {
			t.Error("what was known is forgotten")
		}
		if n := strings.Count(log.String(), "no route"); n != 1 {
			t.Errorf("said %d times, want once:\n%s", n, log)
		}
	})
}

package search_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/search"
)

// memory is a queue of messages, whose commits do as they are told.
type memory struct {
	mu      sync.Mutex // guards the fields below
	queue   []mooring.Unindexed
	seq     int64
	deleted int64
	wiped   int64
	commits []time.Time
	sizes   []int
	refuse  func(c *mooring.Index) error // nil for none
	hang    chan struct{}                // a commit waits for it; nil for none
	others  int                          // how often another replica is faster
	left    []mooring.MessageID          // put in without words
}

func (m *memory) add(ids ...mooring.MessageID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.seq++
		m.queue = append(m.queue, mooring.Unindexed{Seq: m.seq, Tenant: acme, Message: id})
	}
}

func (m *memory) Backlog(context.Context) (mooring.Backlog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := mooring.Backlog{Deleted: m.deleted, Wiped: m.wiped}
	if len(m.queue) > 0 {
		b.Last = m.queue[len(m.queue)-1].Seq
	}
	return b, nil
}

func (m *memory) Unindexed(_ context.Context, upTo int64, limit int) ([]mooring.Unindexed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(m.queue), func(u mooring.Unindexed) bool { return u.Seq > upTo })
	return list[:min(len(list), limit)], nil
}

func (m *memory) Content(_ context.Context, _ mooring.Tenant, id mooring.MessageID) (mooring.Message, error) {
	return mooring.Message{Content: []byte(id)}, nil
}

func (m *memory) Found(context.Context, mooring.Tenant, []mooring.SearchTerm, int64, int) ([]mooring.Found, error) {
	return nil, nil
}

func (m *memory) Recent(context.Context, mooring.Tenant, mooring.RecentPage, func(mooring.Found) bool) error {
	return nil
}

func (m *memory) Names(context.Context, mooring.Tenant, int, func(mooring.Session) bool) error {
	return nil
}

func (m *memory) Sync(context.Context) error { return nil }

func (m *memory) Commit(ctx context.Context, change mooring.Change) error {
	m.mu.Lock()
	hang := m.hang
	m.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch c := change.(type) {
	case *mooring.Index:
		return m.put(c)
	case *mooring.Compact:
		c.Wiped, m.wiped = true, c.UpTo
	}
	return nil
}

func (m *memory) put(c *mooring.Index) error {
	if m.others > 0 {
		m.others--
		return nil
	}
	if m.refuse != nil {
		if err := m.refuse(c); err != nil {
			return err
		}
	}
	m.commits, m.sizes = append(m.commits, time.Now()), append(m.sizes, len(c.Entries))
	for _, e := range c.Entries {
		m.queue = slices.DeleteFunc(m.queue, func(u mooring.Unindexed) bool { return u.Seq == e.Seq })
		c.Taken++
		if e.Terms == "" {
			m.left = append(m.left, e.Message)
		}
	}
	return nil
}

func (m *memory) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}

// over starts an index over a queue. What it logs is in the text.
func over(t *testing.T, m *memory) (*search.Index, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	x := search.New(search.Options{
		Store: m, Log: m, Render: func(_ mooring.Protocol, content []byte) string { return string(content) }, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	x.Start()
	t.Cleanup(x.Close)
	synctest.Wait()
	return x, log
}

func look(t *testing.T, x *search.Index) mooring.SearchPage {
	t.Helper()
	page, err := x.Search(t.Context(), acme, mooring.SearchQuery{Text: "bollard", Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestMessagesComeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		x, _ := over(t, m)
		began := time.Now()
		for _, id := range []mooring.MessageID{"msg_1", "msg_2", "msg_3"} {
			m.add(id)
			x.Wake()
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if m.waiting() != 0 || len(m.commits) != 1 || m.commits[0].Sub(began) > time.Second {
			t.Errorf("%d wait after %d commits at %v, want all in one within a second", m.waiting(), len(m.commits), m.commits)
		}
	})
}

func TestACommitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		var many []mooring.MessageID
		for range 300 {
			many = append(many, "msg_1")
		}
		long := mooring.MessageID(longText())
		m.add(append(many, long, long)...)
		over(t, m)
		time.Sleep(2 * time.Second)
		if want := []int{128, 128, 46}; !slices.Equal(m.sizes, want) {
			t.Errorf("commits of %v entries, want %v", m.sizes, want)
		}
	})
}

// longText has more different words than a commit takes.
func longText() string {
	var b strings.Builder
	for a := 'a'; a <= 'z'; a++ {
		for c := 'a'; c <= 'z'; c++ {
			for d := 'a'; d <= 'f'; d++ {
				b.WriteString(string([]rune{a, c, d}) + " ")
			}
		}
	}
	return b.String()
}

func TestASearchDoesNotWaitToGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		x, _ := over(t, m)
		m.add("msg_1")
		x.Wake()
		began := time.Now()
		if page := look(t, x); page.Degraded || m.waiting() != 0 || time.Since(began) > 10*time.Millisecond {
			t.Errorf("degraded %t, %d wait, after %v; want a current index at once", page.Degraded, m.waiting(), time.Since(began))
		}
	})
}

func TestAnIndexThatLagsSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{hang: make(chan struct{})}
		x, _ := over(t, m)
		m.add("msg_1")
		began := time.Now()
		if page := look(t, x); !page.Degraded || time.Since(began) != 500*time.Millisecond {
			t.Errorf("degraded %t after %v, want it after half a second", page.Degraded, time.Since(began))
		}
		close(m.hang)
		if page := look(t, x); page.Degraded {
			t.Error("degraded once the store is back")
		}
	})
}

func TestACloseDoesNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{hang: make(chan struct{})}
		m.add("msg_1")
		x, log := over(t, m)
		x.Close()
		if page := look(t, x); !page.Degraded {
			t.Error("a closed index is not degraded")
		}
		if log.Len() != 0 {
			t.Errorf("log: %s", log)
		}
	})
}

func TestAStoreThatIsDownIsNamedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := &mooring.Error{Code: mooring.CodeStoreUnavailable, Err: errors.New("gone")}
		m := &memory{refuse: func(*mooring.Index) error { return down }}
		m.add("msg_1")
		_, log := over(t, m)
		time.Sleep(10 * time.Second)
		m.mu.Lock()
		m.refuse = nil
		m.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := strings.Count(log.String(), "search index is behind"); got != 1 || m.waiting() != 0 {
			t.Errorf("named %d times, %d wait; want once and none", got, m.waiting())
		}
	})
}

func TestAMessageThatCannotBeIndexedIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{refuse: func(c *mooring.Index) error {
			if slices.ContainsFunc(c.Entries, func(e mooring.IndexEntry) bool { return e.Message == "msg_2" && e.Terms != "" }) {
				return errors.New("no such function")
			}
			return nil
		}}
		m.add("msg_1", "msg_2", "msg_3")
		_, log := over(t, m)
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(m.left, []mooring.MessageID{"msg_2"}) || m.waiting() != 0 || !strings.Contains(log.String(), "msg_2") {
			t.Errorf("left out %v, %d wait, log %s; want the second alone, by its id", m.left, m.waiting(), log)
		}
	})
}

func TestAnotherReplicaThatIsFasterIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{others: 5}
		x, _ := over(t, m)
		m.add("msg_1")
		if page := look(t, x); page.Degraded || m.waiting() != 0 {
			t.Errorf("degraded %t, %d wait; want a current index", page.Degraded, m.waiting())
		}
	})
}

func TestDeletedWordsAreWiped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		_, _ = over(t, m)
		m.mu.Lock()
		m.deleted = 3
		m.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if m.wiped != 3 {
			t.Errorf("wiped up to %d, want 3", m.wiped)
		}
	})
}

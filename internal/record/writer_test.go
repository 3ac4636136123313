package record_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake notes what it is asked to commit.
type fake struct {
	mu      sync.Mutex
	batches [][]mooring.Change
	idles   int
	errs    []error                       // of the next commits
	poison  mooring.Change                // fails every batch it is in
	slow    time.Duration                 // of each commit
	outcome func(batch []mooring.Change)  // runs at each commit
	applied uint64                        // what Applied gives
	unread  error                         // what Applied fails with
	pulse   func() (mooring.Pulse, error) // what is said to a beat; nil for a store of one process
}

func (f *fake) Apply(ctx context.Context, batch []mooring.Change) error {
	time.Sleep(f.slow)
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, batch)
	if slices.Contains(batch, f.poison) {
		return &mooring.Error{Code: mooring.CodeInternal}
	}
	if f.outcome != nil {
		f.outcome(batch)
	}
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	return nil
}

func (f *fake) Idle(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idles++
	return nil
}

// seen gives the sizes of the batches and the number of upkeeps so far.
func (f *fake) seen() (sizes []int, idles int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes, f.idles
}

func (f *fake) commits() int {
	sizes, _ := f.seen()
	return len(sizes)
}

func (f *fake) Local() bool { return f.pulse == nil }

func (f *fake) Beat(context.Context, string) (mooring.Pulse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pulse()
}

func (f *fake) Applied(context.Context) (uint64, error) { return f.applied, f.unread }

func (f *fake) AliasHits(context.Context, mooring.Tenant, []mooring.Alias) ([]mooring.AliasHit, error) {
	return nil, nil
}

// changes gives what was committed so far, without the notes of the journal's place.
func (f *fake) changes() []mooring.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []mooring.Change
	for _, c := range slices.Concat(f.batches...) {
		if _, place := c.(*mooring.Applied); !place {
			list = append(list, c)
		}
	}
	return list
}

func start(tb testing.TB, o record.Options) *record.Writer {
	tb.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	w := record.New(o)
	if err := w.Start(tb.Context()); err != nil {
		w.Close()
		tb.Fatalf("Start: %v", err)
	}
	return w
}

func TestWhatWaitsIsOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fake{slow: time.Second}
		w := start(t, record.Options{Store: store, MaxBatch: 8})
		defer w.Close()
		var pending []*record.Pending
		for range 12 {
			pending = append(pending, w.Submit(t.Context(), &mooring.Bind{}))
			synctest.Wait()
		}
		for _, p := range pending {
			if err := p.Wait(t.Context()); err != nil {
				t.Errorf("Wait: %v", err)
			}
		}
		sizes, _ := store.seen()
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 8 || sizes[2] != 3 {
			t.Errorf("batches of %v, want 1 at once, then 8, then 3", sizes)
		}
	})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	down := &mooring.Error{Code: mooring.CodeStoreUnavailable}
	broken := &mooring.Error{Code: mooring.CodeInternal}
	for name, tt := range map[string]struct {
		errs  []error
		own   error
		want  mooring.Code
		tries int
	}{
		"a commit that works is tried once":               {nil, nil, "", 1},
		"C087 a lost connection is tried once more":       {[]error{down}, nil, "", 2},
		"a store that stays down is told after two tries": {[]error{down, down}, nil, mooring.CodeStoreUnavailable, 2},
		"a fault of the program is not tried again":       {[]error{broken}, nil, mooring.CodeInternal, 1},
		"the change's own outcome is told":                {nil, mooring.Errorf(mooring.CodeSessionTaken, "x"), mooring.CodeSessionTaken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &fake{errs: tt.errs}
			w := start(t, record.Options{Store: store})
			defer w.Close()
			err := w.Commit(t.Context(), &mooring.Bind{Err: tt.own})
			if got := code(err); got != tt.want || store.commits() != tt.tries {
				t.Errorf("%q after %d tries, want %q after %d", got, store.commits(), tt.want, tt.tries)
			}
		})
	}
}

func code(err error) mooring.Code {
	if err == nil {
		return ""
	}
	return mooring.CodeOf(err)
}

func TestOneFaultyChangeFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		poison := &mooring.Bind{}
		store := &fake{slow: time.Second, poison: poison}
		w := start(t, record.Options{Store: store})
		defer w.Close()
		first := w.Submit(t.Context(), &mooring.Bind{})
		synctest.Wait()
		bad, good := w.Submit(t.Context(), poison), w.Submit(t.Context(), &mooring.Bind{})
		if err := errors.Join(first.Wait(t.Context()), good.Wait(t.Context())); err != nil {
			t.Errorf("the good ones: %v", err)
		}
		if err := bad.Wait(t.Context()); code(err) != mooring.CodeInternal {
			t.Errorf("the faulty one: %v, want internal_error", err)
		}
	})
}

func TestFullQueueWaitsForTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, record.Options{Store: &fake{slow: time.Minute}, Queue: 1})
		_ = w.Submit(t.Context(), &mooring.Bind{}) // is being committed
		synctest.Wait()
		queued := w.Submit(t.Context(), &mooring.Bind{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Submit(ctx, &mooring.Bind{}).Wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit to a full queue: %v, want the end of its context", err)
		}
		w.Close()
		if err := queued.Wait(t.Context()); err == nil {
			t.Error("a commit that takes a minute was good, want an error after 10 s")
		}
	})
}

func TestClientThatGoesAwayIsCommitted(t *testing.T) {
	t.Parallel()
	store := &fake{}
	w := start(t, record.Options{Store: store})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Commit(ctx, &mooring.Bind{}); err != nil {
		t.Errorf("Commit: %v", err)
	}
	w.Close()
	if err := w.Commit(t.Context(), &mooring.Bind{}); code(err) != mooring.CodeShuttingDown {
		t.Errorf("Commit after Close: %v, want shutting_down", err)
	}
	if store.commits() != 1 {
		t.Errorf("%d commits, want 1", store.commits())
	}
}

func TestUpkeepRunsWhenNothingWasCommittedForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fake{}
		w := start(t, record.Options{Store: store})
		defer w.Close()
		for range 10 {
			if err := w.Commit(t.Context(), &mooring.Bind{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(150 * time.Millisecond)
		}
		if _, idles := store.seen(); idles != 0 {
			t.Errorf("%d upkeeps between commits, want 0", idles)
		}
		time.Sleep(time.Minute)
		if _, idles := store.seen(); idles != 1 {
			t.Errorf("%d upkeeps after a quiet minute, want 1", idles)
		}
	})
}

func TestSweeperRemovesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 5
		var before time.Time
		store := &fake{outcome: func(batch []mooring.Change) {
			c, _ := batch[0].(*mooring.Prune)
			c.Removed = min(left, 2)
			left -= c.Removed
			before = c.Before
		}}
		w := start(t, record.Options{Store: store, Retention: 24 * time.Hour})
		synctest.Wait()
		if store.commits() != 4 {
			t.Errorf("%d prunes, want 4: three that remove something and one that finds nothing", store.commits())
		}
		time.Sleep(61 * time.Minute)
		w.Close()
		if store.commits() != 5 || left != 0 || !before.Equal(time.Now().Add(-24*time.Hour-time.Minute)) {
			t.Errorf("%d prunes, the last of what was idle since %v, %d left; want one more an hour later of what is a day old, 0 left",
				store.commits(), before, left)
		}
	})
}

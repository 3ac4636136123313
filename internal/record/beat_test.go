package record_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/record"
)

// kinds names what was committed, batch by batch.
func (f *fake) kinds() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out [][]string
	for _, b := range f.batches {
		var names []string
		for _, c := range b {
			switch c.(type) {
			case *mooring.Alive:
				names = append(names, "alive")
			case *mooring.Retire:
				names = append(names, "retire")
			default:
				names = append(names, "other")
			}
		}
		out = append(out, names)
	}
	return out
}

func TestBeats(t *testing.T) {
	t.Parallel()
	t.Run("C-3.4 a replica says every 3 s that it lives, and retires the dead once it hears of some", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			beats, since := 0, time.Now()
			store := &fake{pulse: func() (mooring.Pulse, error) {
				beats++
				return mooring.Pulse{Now: time.Now(), Since: since, Dead: beats == 3}, nil
			}}
			w := start(t, record.Options{Store: store, Replica: "a"})
			defer w.Close()
			time.Sleep(10 * time.Second)
			store.mu.Lock()
			got := beats
			store.mu.Unlock()
			if got != 4 {
				t.Errorf("%d beats within 10 s, want one at the start and one every 3 s", got)
			}
			if diff := cmp.Diff([][]string{{"retire"}}, store.kinds()); diff != "" {
				t.Errorf("commits (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("a replica that was not heard of for a while looks after its turns, and says in what it writes that it is back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			since, down, lapses := time.Now(), false, atomic.Int32{}
			store := &fake{}
			store.pulse = func() (mooring.Pulse, error) {
				if down {
					return mooring.Pulse{}, errors.New("down")
				}
				return mooring.Pulse{Now: time.Now(), Since: since}, nil
			}
			set := func(isDown bool) {
				store.mu.Lock()
				defer store.mu.Unlock()
				down = isDown
			}
			w := start(t, record.Options{Store: store, Replica: "a", Lapsed: func() { lapses.Add(1) }})
			defer w.Close()
			commit := func() {
				if err := w.Commit(t.Context(), &mooring.PinsUsed{}); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(4 * time.Second)
			commit()
			set(true)
			time.Sleep(10 * time.Second)
			commit()
			store.mu.Lock()
			since = time.Now()
			store.mu.Unlock()
			set(false)
			time.Sleep(3 * time.Second)
			commit()
			if diff := cmp.Diff([][]string{{"other"}, {"other", "alive"}, {"other"}}, store.kinds()); diff != "" {
				t.Errorf("commits (-want +got):\n%s", diff)
			}
			if n := lapses.Load(); n != 1 {
				t.Errorf("told %d times that it was away, want once", n)
			}
		})
	})
}

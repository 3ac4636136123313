package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/turn"
)

func rules() turn.Rules { return turn.Rules{QueueDepth: 2, QueueWait: time.Minute} }

// took enters a lane and fails the test where there is no place at once.
func took(t *testing.T, l *turn.Lane, way turn.Concurrency) (leave func()) {
	t.Helper()
	leave, waited, err := l.Enter(t.Context(), way, rules())
	if err != nil || waited {
		t.Fatalf("Enter(%s) = waited %v, %v, want a place at once", way, waited, err)
	}
	return leave
}

func busy(t *testing.T, err error) {
	t.Helper()
	var e *mooring.Error
	if !errors.As(err, &e) || e.Code != mooring.CodeSessionBusy || e.RetryAfter <= 0 {
		t.Errorf("error = %v, want session_busy with a time to come again", err)
	}
}

func TestLanes(t *testing.T) {
	t.Parallel()
	t.Run("allow lets everybody in", func(t *testing.T) {
		t.Parallel()
		var l turn.Lane
		first, second := took(t, &l, turn.Allow), took(t, &l, turn.Allow)
		first()
		second()
		if !l.Empty() {
			t.Error("the lane is kept")
		}
	})
	t.Run("reject refuses the second until the first has left", func(t *testing.T) {
		t.Parallel()
		var l turn.Lane
		leave := took(t, &l, turn.Reject)
		_, _, err := l.Enter(t.Context(), turn.Reject, rules())
		busy(t, err)
		leave()
		took(t, &l, turn.Reject)()
	})
	t.Run("queue goes in order of arrival", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var l turn.Lane
			leave := took(t, &l, turn.Queue)
			order := make(chan string, 2)
			for _, name := range []string{"first", "second"} {
				go func() {
					done, waited, err := l.Enter(t.Context(), turn.Queue, rules())
					if err != nil || !waited {
						t.Errorf("%s: waited %v, %v", name, waited, err)
						return
					}
					order <- name
					time.Sleep(time.Second) // of the bubble's clock: its turn runs
					done()
				}()
				synctest.Wait()
			}
			_, _, err := l.Enter(t.Context(), turn.Queue, rules())
			busy(t, err) // no room for a third
			if n := len(order); n != 0 {
				t.Errorf("%d ran while another turn did", n)
			}
			leave()
			synctest.Wait()
			if n := len(order); n != 1 {
				t.Errorf("%d run when one has left, want 1", n)
			}
			if diff := cmp.Diff([]string{"first", "second"}, []string{<-order, <-order}); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if !l.Empty() {
				t.Error("the lane is kept")
			}
		})
	})
	t.Run("a wait ends after queue.wait and gives up its place", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var l turn.Lane
			leave := took(t, &l, turn.Queue)
			begun := time.Now()
			_, waited, err := l.Enter(t.Context(), turn.Queue, rules())
			busy(t, err)
			if took := time.Since(begun); took != time.Minute || !waited {
				t.Errorf("waited %v (%v), want a minute", took, waited)
			}
			leave()
			if !l.Empty() {
				t.Error("the waiter is still in the queue")
			}
		})
	})
	t.Run("H-30 a client that leaves gives up its place in the queue", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var l turn.Lane
			leave := took(t, &l, turn.Queue)
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				_, _, err := l.Enter(ctx, turn.Queue, rules())
				gone <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
			leave()
			if !l.Empty() {
				t.Error("the lane is held by a client that has gone")
			}
		})
	})
	t.Run("a place that comes while its client leaves is handed on", func(t *testing.T) {
		t.Parallel()
		for range 200 { // either may be seen first
			synctest.Test(t, func(t *testing.T) {
				var l turn.Lane
				leave := took(t, &l, turn.Queue)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					if done, _, err := l.Enter(ctx, turn.Queue, rules()); err == nil {
						done()
					}
				}()
				synctest.Wait()
				go leave()
				go cancel()
				synctest.Wait()
				if !l.Empty() {
					t.Error("the lane is held by nobody")
				}
			})
		}
	})
}

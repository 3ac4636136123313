package upstream_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"mooring/internal/upstream"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// enter lets a request in that takes what it finds.
func enter(t *testing.T, u *upstream.Upstream) *upstream.Visit {
	t.Helper()
	return enterAt(t, u, noon)
}

func enterAt(t *testing.T, u *upstream.Upstream, now time.Time) *upstream.Visit {
	t.Helper()
	v, err := u.Enter(t.Context(), upstream.Visitor{}, func() time.Time { return now })
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	return v
}

// silent is a request without an answer, from beginning to end.
func silent(t *testing.T, u *upstream.Upstream, now time.Time) {
	t.Helper()
	v := enterAt(t, u, now)
	v.Unanswered(now)
	v.Leave()
}

// erring is a request that is answered with an error of the server.
func erring(t *testing.T, u *upstream.Upstream, now time.Time) {
	t.Helper()
	v := enterAt(t, u, now)
	v.Answered(http.StatusBadGateway, nil, now)
	v.Leave()
}

// fine is a request that is answered well.
func fine(t *testing.T, u *upstream.Upstream, now time.Time) {
	t.Helper()
	v := enterAt(t, u, now)
	v.Answered(http.StatusOK, nil, now)
	v.Began()
	v.Leave()
}

func wantStanding(t *testing.T, u *upstream.Upstream, now time.Time, want upstream.Standing) {
	t.Helper()
	if got := u.Standing(now); got != want || u.Up(now) != (want == upstream.Well) {
		t.Errorf("after %v: standing %d, up %v; want %d", now.Sub(noon), got, u.Up(now), want)
	}
}

func TestPauseGrowsWithEachFailureInARow(t *testing.T) {
	t.Parallel()
	u, at := server(t, upstream.Spec{}), noon
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		silent(t, u, at)
		if u.Up(at) || u.Up(at.Add(wait-1)) || !u.Up(at.Add(wait)) {
			t.Errorf("not out for exactly %v", wait)
		}
		at = at.Add(wait)
	}
}

func TestRequestsThatFailTogetherPauseOnce(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{})
	var out []*upstream.Visit
	for range 20 {
		out = append(out, enter(t, u))
	}
	for i, v := range out {
		v.Unanswered(after(time.Duration(i) * time.Millisecond))
		v.Leave()
	}
	wantStanding(t, u, after(time.Second), upstream.Silent)
	wantStanding(t, u, after(2*time.Second), upstream.Well)
	if all, failed := u.Requests(); all != 20 || failed != 20 {
		t.Errorf("%d requests, %d failed, want 20 each", all, failed)
	}
}

func TestSilenceOpensTheCircuitStepByStep(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{})
	wantStanding(t, u, noon, upstream.Well)
	silent(t, u, noon)
	wantStanding(t, u, noon, upstream.Shaky) // an accident, perhaps: those who are at home here still come
	silent(t, u, noon)
	wantStanding(t, u, noon, upstream.Shaky)
	silent(t, u, noon)
	wantStanding(t, u, noon, upstream.Silent)
	fine(t, u, noon)
	wantStanding(t, u, noon, upstream.Well)
	silent(t, u, noon)
	wantStanding(t, u, noon, upstream.Shaky) // what was before the answer counts no more
	wantStanding(t, u, after(2*time.Second), upstream.Well)
}

func TestErrorsOpenTheCircuitInARowAlone(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{})
	for range 4 {
		erring(t, u, noon)
	}
	wantStanding(t, u, noon, upstream.Well) // a single error may be the request's own fault
	fine(t, u, noon)
	for range 4 {
		erring(t, u, noon)
	}
	wantStanding(t, u, noon, upstream.Well)
	erring(t, u, noon)
	wantStanding(t, u, noon, upstream.Erring)
	if got, want := u.Ailment(noon), "5 errors in a row"; got != want {
		t.Errorf("ailment %q, want %q", got, want)
	}
}

func TestWhatCountsAsAnError(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule string
		end  func(v *upstream.Visit)
		want upstream.Standing
	}{
		{"an error of the server", func(v *upstream.Visit) { v.Answered(500, nil, noon) }, upstream.Erring},
		{"one that is overloaded", func(v *upstream.Visit) { v.Answered(529, nil, noon) }, upstream.Erring},
		{"a success that falls before it has begun", func(v *upstream.Visit) { v.Answered(200, nil, noon); v.Fell(noon) }, upstream.Erring},
		{"not a refusal", func(v *upstream.Visit) { v.Answered(400, nil, noon) }, upstream.Well},
		{"not a limit", func(v *upstream.Visit) { v.Answered(429, nil, noon) }, upstream.Well},
		{"not a credential", func(v *upstream.Visit) { v.Answered(401, nil, noon) }, upstream.Well},
		{"not a client that went away", func(*upstream.Visit) {}, upstream.Well},
		{"not one that went away after the header", func(v *upstream.Visit) { v.Answered(200, nil, noon) }, upstream.Well},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			u := server(t, upstream.Spec{})
			for range 9 {
				v := enter(t, u)
				row.end(v)
				v.Leave()
			}
			wantStanding(t, u, noon, row.want)
			if u.InFlight() != 0 {
				t.Errorf("%d in flight", u.InFlight())
			}
		})
	}
}

func TestHalfOpenLetsOneThrough(t *testing.T) {
	t.Parallel()
	broken := func(t *testing.T) *upstream.Upstream {
		t.Helper()
		u := server(t, upstream.Spec{})
		for range 3 {
			silent(t, u, noon)
		}
		return u
	}
	later := after(2 * time.Second)
	picky := upstream.Visitor{Avoid: func(s upstream.Standing) bool { return s != upstream.Well }}
	t.Run("the first one after the pause is the probe, others keep away until it knows", func(t *testing.T) {
		t.Parallel()
		u := broken(t)
		if _, err := u.Enter(t.Context(), picky, func() time.Time { return noon }); !errors.Is(err, upstream.ErrAvoided) {
			t.Errorf("let in during the pause: %v", err)
		}
		probe, err := u.Enter(t.Context(), picky, func() time.Time { return later })
		if err != nil {
			t.Fatalf("nobody let in after the pause: %v", err)
		}
		wantStanding(t, u, later, upstream.Silent)
		for range 5 {
			if _, err := u.Enter(t.Context(), picky, func() time.Time { return later }); !errors.Is(err, upstream.ErrAvoided) {
				t.Errorf("let in beside the probe: %v", err)
			}
		}
		if u.InFlight() != 1 {
			t.Errorf("%d in flight, want the probe alone", u.InFlight())
		}
		probe.Answered(http.StatusOK, nil, later)
		probe.Began()
		wantStanding(t, u, later, upstream.Well)
		if got := u.Circuit(later); got != upstream.Closed {
			t.Errorf("circuit %s, want closed", got)
		}
	})
	t.Run("who has nowhere else to go is let in all the same", func(t *testing.T) {
		t.Parallel()
		u := broken(t)
		probe := enterAt(t, u, later)
		enterAt(t, u, later).Leave() // it is no probe, and says nothing
		wantStanding(t, u, later, upstream.Silent)
		enterAt(t, u, later).Began() // another one does
		wantStanding(t, u, later, upstream.Well)
		probe.Leave()
		wantStanding(t, u, later, upstream.Well)
	})
	t.Run("a probe that fails opens it again, for longer", func(t *testing.T) {
		t.Parallel()
		u := broken(t)
		probe := enterAt(t, u, later)
		probe.Unanswered(later)
		probe.Leave()
		wantStanding(t, u, later.Add(4*time.Second-1), upstream.Silent)
		wantStanding(t, u, later.Add(4*time.Second), upstream.Well)
	})
	t.Run("a probe that says nothing leaves it to the next one", func(t *testing.T) {
		t.Parallel()
		u := broken(t)
		enterAt(t, u, later).Leave() // its client went away
		wantStanding(t, u, later, upstream.Well)
		if got := u.Circuit(later); got != upstream.HalfOpen {
			t.Errorf("circuit %s, want half_open", got)
		}
		if _, err := u.Enter(t.Context(), picky, func() time.Time { return later }); err != nil {
			t.Errorf("the next probe is not let in: %v", err)
		}
	})
	t.Run("a server that answers with errors now is there", func(t *testing.T) {
		t.Parallel()
		u := broken(t)
		erring(t, u, later)
		wantStanding(t, u, later, upstream.Well)
	})
}

func TestAilment(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{})
	silent(t, u, noon)
	if got, want := u.Ailment(noon), "the last request got no answer"; got != want {
		t.Errorf("ailment %q, want %q", got, want)
	}
	silent(t, u, after(2*time.Second))
	for at, want := range map[time.Duration]string{5 * time.Second: "no answer 2 times in a row", 6 * time.Second: ""} {
		if got := u.Ailment(after(at)); got != want {
			t.Errorf("after %v: %q, want %q", at, got, want)
		}
	}
}

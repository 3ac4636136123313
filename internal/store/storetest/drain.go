//nolint:thelper // a table of rules: each row is a test of its own
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func drainTests() []test {
	return []test{
		{"nothing is drained at first", func(t *testing.T, s Store) {
			wantDrained(t, s, map[mooring.UpstreamName]time.Time{})
		}},
		{"an upstream is drained until it is resumed, whether anybody knows it or not", func(t *testing.T, s Store) {
			apply(t, s, &mooring.Drain{Upstream: "north", At: at(1)}, &mooring.Drain{Upstream: "south", At: at(2)})
			wantDrained(t, s, map[mooring.UpstreamName]time.Time{"north": at(1), "south": at(2)})
			apply(t, s, &mooring.Drain{Upstream: "north"})
			wantDrained(t, s, map[mooring.UpstreamName]time.Time{"south": at(2)})
		}},
		{"drained again keeps the time of the first, resumed again does no harm", func(t *testing.T, s Store) {
			apply(t, s, &mooring.Drain{Upstream: "north", At: at(1)}, &mooring.Drain{Upstream: "north", At: at(5)})
			wantDrained(t, s, map[mooring.UpstreamName]time.Time{"north": at(1)})
			apply(t, s, &mooring.Drain{Upstream: "north"}, &mooring.Drain{Upstream: "north"})
			wantDrained(t, s, map[mooring.UpstreamName]time.Time{})
		}},
	}
}

func wantDrained(t *testing.T, s Store, want map[mooring.UpstreamName]time.Time) {
	t.Helper()
	got, err := s.Drained(t.Context())
	if err != nil {
		t.Fatalf("Drained: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("drained (-want +got):\n%s", diff)
	}
}

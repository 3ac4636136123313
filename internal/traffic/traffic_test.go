package traffic_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/eval"
	"mooring/internal/traffic"
)

func written(t *testing.T, name string, o traffic.Options) []byte {
	t.Helper()
	trace, err := traffic.Make(name, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for i := range trace.Lines {
		if err := lines.Encode(&trace.Lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestTrafficIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, name := range traffic.Families() {
		first := written(t, name, traffic.Options{Seed: 3})
		if diff := cmp.Diff(string(first), string(written(t, name, traffic.Options{Seed: 3}))); diff != "" {
			t.Errorf("%s: the same seed gives something else:\n%s", name, diff)
		}
		if bytes.Equal(first, written(t, name, traffic.Options{Seed: 4})) {
			t.Errorf("%s: another seed gives the same", name)
		}
	}
}

// TestTrafficIsATrace reads what is made up as `mooring eval` does, and finds every kind and no parent that comes too late.
func TestTrafficIsATrace(t *testing.T) {
	t.Parallel()
	kinds := map[mooring.Kind]int{}
	restarts, twins, failures := 0, 0, 0
	for _, name := range traffic.Families() {
		trace, err := eval.Read(bytes.NewReader(written(t, name, traffic.Options{Seed: 5})))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		begun := map[string]bool{}
		last := 0.0
		for _, l := range trace.Lines {
			if l.T < last {
				t.Errorf("%s:%d stands before its time", name, l.N)
			}
			last = l.T
			if l.Restart {
				restarts++
				continue
			}
			begun[l.Tenant+l.Truth.Session] = true
			kinds[l.Truth.Kind]++
			if l.Truth.Parent != nil && !begun[l.Tenant+*l.Truth.Parent] {
				t.Errorf("%s:%d begins before its parent %s", name, l.N, *l.Truth.Parent)
			}
			if l.Truth.Twin != "" {
				twins++
			}
			if l.Reply.Status != 200 {
				failures++
			}
		}
	}
	if len(kinds) != 4 || restarts == 0 || twins == 0 || failures == 0 {
		t.Errorf("kinds = %v, %d restarts, %d twins, %d failures, want some of each", kinds, restarts, twins, failures)
	}
}

func TestUnknownFamily(t *testing.T) {
	t.Parallel()
	if _, err := traffic.Make("nobody", traffic.Options{}); err == nil {
		t.Error("a family that is none is made up")
	}
}

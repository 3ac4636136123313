package route_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Whatever turns keep and memory forgets, what is found is what the store holds.
func TestCacheAndStoreAgree(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := &berths{}
	p := newPicker(b)
	sets := [][]string{{"a"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}}
	held := map[string]string{}
	for step := range 3000 {
		set := sets[rnd.IntN(len(sets))]
		key := fmt.Sprint(set)
		switch rnd.IntN(5) {
		case 0:
			p.Forget("acme", "ses_1")
		case 1:
			used := time.Now().Add(time.Duration(step))
			kept := pin(strings.Join(set, ","), set[rnd.IntN(len(set))], used)
			b.keep(kept)
			p.Keep(kept)
			held[key] = string(kept.Upstream)
		default:
			want, known := held[key]
			if got := find(t, p, set...); known && got != want {
				t.Fatalf("seed %d, step %d: Find(%v) = %q, want %q", seed, step, set, got, want)
			}
			fresh := newPicker(b)
			if got, want := find(t, p, set...), find(t, fresh, set...); got != want {
				t.Fatalf("seed %d, step %d: Find(%v) = %q with what is in memory, %q without", seed, step, set, got, want)
			}
		}
	}
}

// Package route decides which of the candidates a session's turn goes to and remembers it: pure policy, and one owner of the
// pins that are known in memory. It asks no upstream anything and writes no pin itself; record does.
//
// A Picker has one goroutine, which notes behind the turns when pins were last used; Close ends it and waits.
package route

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"mooring"
)

// Policy names a way to choose for a session that has no pin yet.
type Policy string

// The policies of CONTRACT section 2.
const (
	Rendezvous Policy = "rendezvous"
	LeastBusy  Policy = "least_busy"
	RoundRobin Policy = "round_robin"
)

// Candidate is an upstream as a choice.
type Candidate struct {
	Name     mooring.UpstreamName
	Weight   int
	InFlight int
	Up       bool
	Drained  bool // takes no new sessions
	Full     bool
	Resting  bool // has asked, or all its accounts have, not to be asked for a while
	Accounts []Account
	Alias    string // the name that the client asks for where it stands for other models; empty where it names the model itself
	Model    string // of an alias: which of its models this is a candidate for
}

// Account is one of a candidate's accounts.
type Account struct {
	Name    mooring.AccountName
	Weight  int
	Resting bool
}

// Taking are the candidates that take new sessions: those that are not drained.
func Taking(all []Candidate) []Candidate {
	return slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return c.Drained })
}

// Order gives the candidates in the order in which a session without a pin tries them: those that are well and take new
// sessions first. None is left out, so that where all are ailing all are tried. turn counts the choices made so far, for
// round_robin.
func Order(p Policy, key string, turn uint64, all []Candidate) []Candidate {
	out := slices.Clone(all)
	if len(out) < 2 {
		return out
	}
	switch p {
	case LeastBusy:
		byScore(key, out) // so that those that are equally busy share what comes
		slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Compare(busy(a), busy(b)) })
	case RoundRobin:
		n := int(turn % uint64(len(out))) //nolint:gosec // smaller than a slice's length
		out = append(out[n:], out[:n]...)
	case Rendezvous:
		byScore(key, out)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return reluctance(a) - reluctance(b) })
	return out
}

func byScore(key string, all []Candidate) {
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Compare(score(key, string(b.Name), b.Weight), score(key, string(a.Name), a.Weight))
	})
}

// reluctance puts candidates that should not get a new session behind the others, without leaving them out.
func reluctance(c Candidate) int {
	r := 0
	if c.Full {
		r++
	}
	if c.Resting {
		r += 2
	}
	if !c.Up {
		r += 4
	}
	if c.Drained {
		r += 8
	}
	return r
}

func busy(c Candidate) float64 { return float64(c.InFlight+1) / float64(max(c.Weight, 1)) }

// score is the weight of a name for a key in weighted rendezvous hashing: the highest one wins, and a name that joins or
// leaves moves only the keys that it wins or held.
func score(key, name string, weight int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(name))
	u := (float64(mix(h.Sum64())>>11) + 0.5) / (1 << 53)
	return float64(max(weight, 1)) / -math.Log(u)
}

// mix spreads the bits of a hash whose high bits depend little on the last bytes.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// AccountFor gives the account that a session uses at a candidate, by weighted rendezvous: of those that do not rest, where there
// is one.
func AccountFor(key string, c Candidate) mooring.AccountName {
	awake := slices.ContainsFunc(c.Accounts, func(a Account) bool { return !a.Resting })
	best, name := math.Inf(-1), mooring.AccountName("")
	for _, a := range c.Accounts {
		if awake && a.Resting {
			continue
		}
		if s := score(key, string(c.Name)+"\x00"+string(a.Name), a.Weight); s > best {
			best, name = s, a.Name
		}
	}
	return name
}

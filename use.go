package mooring

import "time"

// UseBy says what sums of usage are told apart by.
type UseBy int

// The ways. What is named by a number has it in its decimal form.
const (
	ByKey      UseBy = iota
	ByModel          // as the client named it
	ByUpstream       // the last one that a turn was sent to
	ByDay            // days since 1970, in UTC
	ByStep           // steps since the query's From
)

// UseQuery asks for sums over the turns that began in a span of time and have ended. In the last day the span is exact, before
// it an hour counts where all of it lies in the span. Turns of deleted sessions stay in the sums.
type UseQuery struct {
	Tenant   Tenant
	Everyone bool // over all tenants, whatever Tenant says
	From, To time.Time
	By       UseBy
	Step     time.Duration // with ByStep
	Upstream UpstreamName  // empty for all
}

// UseRow is what one key, model, upstream, day or step has used.
type UseRow struct {
	Name     string
	Turns    int
	Failed   int // of Turns: failed or interrupted
	Usage    Usage
	CostUSD  float64 // of the turns whose cost is known
	Unpriced int     // how many used something of unknown price
}

// Add sums two rows; the name stays.
func (r UseRow) Add(o UseRow) UseRow {
	return UseRow{
		Name: r.Name, Turns: r.Turns + o.Turns, Failed: r.Failed + o.Failed, Usage: r.Usage.Add(o.Usage), CostUSD: r.CostUSD + o.CostUSD,
		Unpriced: r.Unpriced + o.Unpriced,
	}
}

// UseTimes is how long the completed turns of an upstream or a step took: until their first byte, and as a whole.
type UseTimes struct {
	Name         string
	First, Whole Times
}

// Times counts turns on a ladder of bounds, the shortest first.
type Times []Rung

// Rung is how many turns took less than a bound, and not less than the one before it.
type Rung struct {
	Below time.Duration
	Turns int
}

// Rungs gives the bounds of the ladder. Between two of them is a factor of 1.6, so that what is read off it is off by less.
func Rungs() []time.Duration {
	var all []time.Duration
	for decade := time.Millisecond; decade < time.Hour; decade *= 10 {
		for _, times := range []float64{10, 16, 25, 40, 63} {
			all = append(all, time.Duration(times*float64(decade)))
		}
	}
	return all
}

// Quantile reads off how long a part of the turns took at most, as if those of a rung were spread evenly over it; false where there
// are none.
func (t Times) Quantile(part float64) (time.Duration, bool) {
	total := 0
	for _, r := range t {
		total += r.Turns
	}
	left := part * float64(total)
	bounds := Rungs()
	for _, r := range t {
		if left > float64(r.Turns) {
			left -= float64(r.Turns)
			continue
		}
		low := time.Duration(0)
		for _, b := range bounds {
			if b < r.Below {
				low = b
			}
		}
		return low + time.Duration(float64(r.Below-low)*left/float64(r.Turns)), true
	}
	return 0, false
}

// SumUp adds the turns of the next hour that has some to the sums that are kept of them, so that reading long spans is cheap. It
// leaves hours that end after Before, and waits for one in which a turn still runs.
type SumUp struct {
	Before time.Time

	Done bool // after the commit: there was no such hour
	Err  error
}

// Outcome gives Err.
func (c *SumUp) Outcome() error { return c.Err }

package upstream

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mooring"
)

const (
	// longestRest is the most that is believed of a Retry-After: quotas of a day exist, longer ones would outlive their reason.
	longestRest = 24 * time.Hour
	// refusedRest is how long new sessions keep away from an account whose credential was refused: people mend that by hand.
	refusedRest = time.Minute
)

// statusOverloaded is Anthropic's own status for a server under too much load.
const statusOverloaded = 529

// Rest is a time in which a server, or an account there, is not to be asked by whoever can go elsewhere.
type Rest struct {
	Until  time.Time
	Status int // of the answer that asked for it
}

func (r Rest) lasts(now time.Time) bool { return now.Before(r.Until) }

// AccountCount is what an account has been asked for since the start.
type AccountCount struct {
	Name     mooring.AccountName
	Requests int64
	Refused  int64 // of those: answered with 401, 402, 403 or 429
	Rest     Rest  // zero where it has none
}

// rests is what the server and its accounts asked for.
type rests struct {
	mu     sync.Mutex // guards the fields below
	server Rest
	of     map[mooring.AccountName]*ledger
}

type ledger struct {
	key      mooring.Secret // whose entry it is: another credential under the name has a new one
	requests int64
	refused  int64
	rest     Rest
}

// keep makes an entry for each account and forgets those that are gone.
func (r *rests) keep(accounts []Account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.of
	r.of = make(map[mooring.AccountName]*ledger, len(accounts)+1)
	for _, a := range append([]Account{{}}, accounts...) { // "" is who has no name
		if l := old[a.Name]; l != nil && l.key == a.Key {
			r.of[a.Name] = l
		} else {
			r.of[a.Name] = &ledger{key: a.Key}
		}
	}
}

func (r *rests) asked(a mooring.AccountName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.of[a]; l != nil {
		l.requests++
	}
}

// refuse notes an answer that concerns the account alone.
func (r *rests) refuse(a mooring.AccountName, rest Rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of[a]
	if l == nil {
		return
	}
	l.refused++
	if !rest.Until.IsZero() {
		l.rest = rest
	}
}

func (r *rests) overloaded(rest Rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = rest
}

// clear ends the rest of an account, and of the server: it has just answered.
func (r *rests) clear(a mooring.AccountName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = Rest{}
	if l := r.of[a]; l != nil {
		l.rest = Rest{}
	}
}

// get gives the rest that whoever comes with this account has to keep, zero for none.
func (r *rests) get(a mooring.AccountName, now time.Time) Rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	var longest Rest
	if r.server.lasts(now) {
		longest = r.server
	}
	if l := r.of[a]; l != nil && l.rest.lasts(now) && l.rest.Until.After(longest.Until) {
		longest = l.rest
	}
	return longest
}

func (r *rests) count(a mooring.AccountName, now time.Time) AccountCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := AccountCount{Name: a}
	if l := r.of[a]; l != nil {
		c.Requests, c.Refused = l.requests, l.refused
		if l.rest.lasts(now) {
			c.Rest = l.rest
		}
	}
	return c
}

// Rest gives how long a request with this account should keep away; zero where it need not.
func (u *Upstream) Rest(a mooring.AccountName, now time.Time) Rest { return u.state.rests.get(a, now) }

// Resting gives until when every account keeps away; zero where one need not.
func (u *Upstream) Resting(now time.Time) Rest {
	if len(u.Accounts) == 0 {
		return u.Rest("", now)
	}
	var first Rest
	for i, a := range u.Accounts {
		r := u.Rest(a.Name, now)
		if r == (Rest{}) {
			return r
		}
		if i == 0 || r.Until.Before(first.Until) {
			first = r
		}
	}
	return first
}

// AccountCounts gives what was asked of each account; none where the server has no accounts with names.
func (u *Upstream) AccountCounts(now time.Time) []AccountCount {
	var out []AccountCount
	for _, a := range u.Accounts {
		if a.Name != "" {
			out = append(out, u.state.rests.count(a.Name, now))
		}
	}
	return out
}

// heed notes what an answer asks of those who come next. A client's own credential says nothing of others'.
func (u *Upstream) heed(a mooring.AccountName, status int, header http.Header, now time.Time) {
	pause, told := RetryAfter(header, now)
	until := Rest{Status: status}
	if told {
		until.Until = now.Add(pause)
	}
	switch status {
	case http.StatusTooManyRequests:
		if u.KeyMode != KeyClient {
			u.state.rests.refuse(a, until)
		}
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		if u.KeyMode == KeyOwn {
			u.state.rests.refuse(a, Rest{Until: now.Add(refusedRest), Status: status})
		}
	case http.StatusServiceUnavailable, statusOverloaded:
		if told {
			u.state.rests.overloaded(until)
		}
	}
}

// RetryAfter reads Retry-After (RFC 9110, 10.2.3): seconds or a date. What is neither, or lies in the past, says nothing; what is
// longer than a day says a day.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > math.MaxInt64/int64(time.Second) {
			return longestRest, true // more digits than there are years
		}
		return min(time.Duration(seconds)*time.Second, longestRest), seconds > 0
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	pause := at.Sub(now)
	return min(pause, longestRest), pause > 0
}

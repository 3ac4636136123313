package serve

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mooring"
)

const (
	spendingAge = 5 * time.Second // how old a key's known spending may be
	placeWait   = time.Second     // when to ask again where all of a key's places are taken
)

// Ask is what a request wants of its key.
type Ask struct {
	Model  string // empty where it names none
	Unread bool   // its body may name a model in a way that others read and this server does not
	Turn   bool   // it takes one of the key's places until it is released
}

// limits keeps the state of the keys' limits, by name.
type limits struct {
	mu   sync.Mutex // guards the map and all that its values hold
	keys map[mooring.KeyName]*keyState
}

type keyState struct {
	rate    *rate.Limiter // nil without a limit
	running int           // turns
	spent   float64       // USD in the month from...
	month   time.Time     // ...here on
	readAt  time.Time     // when spent was read; zero for never
}

// keep takes over the limits of the keys that there are now and forgets the others.
func (l *limits) keep(keys map[mooring.KeyName]Key, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := make(map[mooring.KeyName]*keyState, len(keys))
	for name, key := range keys {
		state := l.keys[name]
		if state == nil {
			state = &keyState{}
		}
		state.setRate(key.RequestsPerMinute, now)
		states[name] = state
	}
	l.keys = states
}

func (k *keyState) setRate(perMinute int, now time.Time) {
	limit := rate.Limit(float64(perMinute) / 60)
	switch {
	case perMinute <= 0:
		k.rate = nil
	case k.rate == nil:
		k.rate = rate.NewLimiter(limit, perMinute)
	case k.rate.Burst() != perMinute:
		k.rate.SetLimitAt(now, limit)
		k.rate.SetBurstAt(now, perMinute)
	}
}

// Admit holds a request against the limits of its key: the models, the month's budget, the turns at once and the requests
// per minute, in this order, so that a refused request uses up nothing. release is never nil and may be called repeatedly.
func (s *Server) Admit(ctx context.Context, c mooring.Caller, ask Ask) (release func(), err error) {
	release = func() {}
	rules := s.rules.Load()
	if len(rules.keys) == 0 {
		return release, nil
	}
	key, ok := rules.byName[c.Key]
	if !ok {
		return release, errKey("This key has been revoked; ask for a new one.")
	}
	if ask.Model != "" && !key.mayUse(ask.Model) {
		return release, mooring.Errorf(mooring.CodeModelNotFound, "This key may not use the model %q; ask for one of its own models.", ask.Model)
	}
	if ask.Unread && len(key.Models) > 0 {
		return release, mooring.Errorf(mooring.CodeUnsupportedMediaType,
			"This key may use some models only, and the body does not say plainly which one it asks for; send JSON with one member model, or a form, uncompressed.")
	}
	if err := s.checkBudget(ctx, key); err != nil {
		return release, err
	}
	return s.limits.enter(key, ask, s.opts.Now())
}

// enter takes a place and a request from the key's allowance, or neither.
func (l *limits) enter(key Key, ask Ask, now time.Time) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	release = func() {}
	state := l.keys[key.Name]
	if state == nil { // the key went with a reload a moment ago
		return release, errKey("This key has been revoked; ask for a new one.")
	}
	if ask.Turn && key.Streams > 0 && state.running >= key.Streams {
		return release, errLimit(placeWait, "This key runs %d turns at once at most; wait for one to end.", key.Streams)
	}
	if state.rate != nil {
		reservation := state.rate.ReserveN(now, 1)
		if wait := reservation.DelayFrom(now); wait > 0 {
			reservation.CancelAt(now)
			return release, errLimit(wait, "This key may send %d requests per minute; wait a little.", key.RequestsPerMinute)
		}
	}
	if !ask.Turn {
		return release, nil
	}
	state.running++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		state.running--
	}), nil
}

// checkBudget refuses where the key's month is spent, and where nobody can tell.
func (s *Server) checkBudget(ctx context.Context, key Key) error {
	if key.BudgetUSD <= 0 {
		return nil
	}
	now := s.opts.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	next := month.AddDate(0, 1, 0)
	spent, known := s.limits.spending(key.Name, month, now)
	if !known {
		if s.opts.Spent == nil {
			return errSpending(errors.New("nothing tells what a key has spent"))
		}
		use, err := s.opts.Spent(ctx, key.Tenant, key.Name, month, next)
		if err != nil {
			return errSpending(err)
		}
		spent = use.CostUSD
		s.limits.setSpending(key.Name, spending{usd: spent, month: month, readAt: now})
	}
	if spent >= key.BudgetUSD {
		return errLimit(next.Sub(now), "This key has spent its budget of %.2f USD for the month; it starts anew on %s.",
			key.BudgetUSD, next.Format(time.DateOnly))
	}
	return nil
}

type spending struct {
	usd           float64
	month, readAt time.Time
}

func (l *limits) spending(name mooring.KeyName, month, now time.Time) (usd float64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.keys[name]
	if state == nil || !state.month.Equal(month) || now.Sub(state.readAt) >= spendingAge {
		return 0, false
	}
	return state.spent, true
}

func (l *limits) setSpending(name mooring.KeyName, sp spending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state := l.keys[name]; state != nil {
		state.spent, state.month, state.readAt = sp.usd, sp.month, sp.readAt
	}
}

func errLimit(wait time.Duration, format string, args ...any) error {
	err := mooring.Errorf(mooring.CodeKeyLimit, format, args...)
	err.RetryAfter = wait
	return err
}

func errSpending(cause error) error {
	return &mooring.Error{
		Code: mooring.CodeStoreUnavailable, Safe: "The key's budget cannot be checked now; try again.",
		RetryAfter: time.Second, Err: cause,
	}
}

// mayUse says that the key has no list of models, or that a glob of it matches.
func (k Key) mayUse(model string) bool {
	for _, glob := range k.Models {
		if match(glob, model) {
			return true
		}
	}
	return len(k.Models) == 0
}

// match knows "*" alone, for any run of characters: path.Match would stop at the slashes that models have.
func match(glob, name string) bool {
	head, rest, star := strings.Cut(glob, "*")
	if !star {
		return glob == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

package serve

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mooring"
)

// placeWait is when to ask again where all of a key's places are taken: nobody knows when a turn ends.
const placeWait = time.Second

// Ask is what a request wants of its key.
type Ask struct {
	Model  string // empty where it names none
	Unread bool   // its body may name a model in a way that others read and this server does not
	Turn   bool   // it takes one of the key's places until it is released
	Free   bool   // it costs nothing, so a budget that is spent does not matter
}

// Limit names a limit of a key as the configuration does.
type Limit string

// The limits that a request can hit.
const (
	LimitModels   Limit = "models"
	LimitBudget   Limit = "budget_usd"
	LimitStreams  Limit = "streams"
	LimitRequests Limit = "requests_per_minute"
)

// limits keeps the state of the keys' limits, by name.
type limits struct {
	mu       sync.Mutex // guards the fields below and all that the map's values hold
	keys     map[mooring.KeyName]*keyState
	replicas int // that share the keys' requests per minute; 0 counts as 1
}

type keyState struct {
	rate      *rate.Limiter // nil without a limit
	perMinute int           // as configured
	running   int           // turns here
	spent     spending
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
		state.perMinute = key.RequestsPerMinute
		state.setRate(l.replicas, now)
		states[name] = state
	}
	l.keys = states
}

// share divides the keys' requests per minute among so many replicas.
func (l *limits) share(replicas int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if replicas == l.replicas {
		return
	}
	l.replicas = replicas
	for _, state := range l.keys {
		state.setRate(replicas, now)
	}
}

// setRate gives this replica its part of the key's rate. What was used of it stays used.
func (k *keyState) setRate(replicas int, now time.Time) {
	replicas = max(replicas, 1)
	limit := rate.Limit(float64(k.perMinute) / 60 / float64(replicas))
	burst := (k.perMinute + replicas - 1) / replicas // at least one, or the key would be of no use here
	switch {
	case k.perMinute <= 0:
		k.rate = nil
	case k.rate == nil:
		k.rate = rate.NewLimiter(limit, burst)
	case k.rate.Limit() != limit || k.rate.Burst() != burst:
		k.rate.SetLimitAt(now, limit)
		k.rate.SetBurstAt(now, burst)
	}
}

// Replicas says how many processes share the keys with this one, itself included. Each gets its part of the requests per minute;
// turns at once are counted over all of them.
func (s *Server) Replicas(n int) {
	s.replicas.Store(int64(n))
	s.limits.share(n, s.opts.Now())
}

// Shares gives how many processes share the keys, as Replicas said last.
func (s *Server) Shares() int { return max(int(s.replicas.Load()), 1) }

// Admit holds a request against the limits of its key: the models, the month's budget, the turns at once and the requests
// per minute, in this order, so that a refused request uses up nothing. release is never nil and may be called repeatedly.
func (s *Server) Admit(ctx context.Context, c mooring.Caller, ask Ask) (release func(), err error) {
	release, hit, err := s.weigh(ctx, c, ask)
	if hit != "" {
		s.opts.Limited(hit)
	}
	return release, err
}

func (s *Server) weigh(ctx context.Context, c mooring.Caller, ask Ask) (release func(), hit Limit, err error) {
	release = func() {}
	rules := s.rules.Load()
	if len(rules.keys) == 0 {
		return release, "", nil
	}
	key, ok := rules.byName[c.Key]
	if !ok {
		return release, "", errRevoked()
	}
	if err = key.checkModel(ask); err != nil {
		return release, LimitModels, err
	}
	if !ask.Free {
		if hit, err = s.checkBudget(ctx, key); err != nil {
			return release, hit, err
		}
	}
	elsewhere, err := s.elsewhere(ctx, key, ask)
	if err != nil {
		return release, "", err
	}
	return s.limits.enter(key, ask, elsewhere, s.opts.Now())
}

// elsewhere counts the key's turns that other replicas run, where that matters.
func (s *Server) elsewhere(ctx context.Context, key Key, ask Ask) (int, error) {
	if !ask.Turn || key.Streams <= 0 || s.replicas.Load() <= 1 || s.opts.Elsewhere == nil {
		return 0, nil
	}
	n, err := s.opts.Elsewhere(ctx, key.Tenant, key.Name)
	if err != nil {
		return 0, errUncounted("The key's turns cannot be counted now; try again.", err)
	}
	return n, nil
}

// enter takes a place and a request from the key's allowance, or neither.
func (l *limits) enter(key Key, ask Ask, elsewhere int, now time.Time) (release func(), hit Limit, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	release = func() {}
	state := l.keys[key.Name]
	if state == nil { // the key went with a reload a moment ago
		return release, "", errRevoked()
	}
	if ask.Turn && key.Streams > 0 && state.running+elsewhere >= key.Streams {
		return release, LimitStreams, errLimit(placeWait, "This key runs %d turns at once at most; wait for one to end.", key.Streams)
	}
	if state.rate != nil {
		reservation := state.rate.ReserveN(now, 1)
		if wait := reservation.DelayFrom(now); wait > 0 {
			reservation.CancelAt(now)
			return release, LimitRequests, errLimit(wait, "This key may send %d requests per minute; wait a little.", key.RequestsPerMinute)
		}
	}
	if !ask.Turn {
		return release, "", nil
	}
	state.running++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		state.running--
	}), "", nil
}

func errRevoked() error { return errKey("This key has been revoked; ask for a new one.") }

func errLimit(wait time.Duration, format string, args ...any) error {
	err := mooring.Errorf(mooring.CodeKeyLimit, format, args...)
	err.RetryAfter = wait
	return err
}

// errUncounted refuses a request that nobody can hold against a limit.
func errUncounted(safe string, cause error) error {
	return &mooring.Error{Code: mooring.CodeStoreUnavailable, Safe: safe, RetryAfter: time.Second, Err: cause}
}

package serve

import (
	"context"
	"errors"
	"time"

	"mooring"
)

const (
	// spendingAge is how old a key's known spending may be at least: what is spent here is added at once, other replicas' is read.
	spendingAge = 5 * time.Second
	// readingShare bounds what reading a busy key's spending may take of a store: a read holds so many times as long as it took.
	readingShare = 50
)

// spending is what a key has spent in a month, as far as is known.
type spending struct {
	usd     float64
	month   time.Time // its beginning; zero where nothing is known
	until   time.Time // when it is to be read again
	reading bool      // a request asks the store for it; the others go by what is known
}

// checkBudget refuses where the key's month is spent, and where nobody can tell. Turns that still run have no cost yet, so what
// runs may go beyond the budget.
func (s *Server) checkBudget(ctx context.Context, key Key) (Limit, error) {
	if key.BudgetUSD <= 0 {
		return "", nil
	}
	now := s.opts.Now().UTC()
	month, next := monthOf(now)
	usd, known := s.limits.spending(key.Name, month, now)
	if !known {
		var err error
		if usd, err = s.readSpending(ctx, key, now); err != nil {
			return "", errUncounted("The key's budget cannot be checked now; try again.", err)
		}
	}
	if usd >= key.BudgetUSD {
		return LimitBudget, errLimit(next.Sub(now), "This key has spent its budget of %.2f USD for the month; it starts anew on %s.",
			key.BudgetUSD, next.Format(time.DateOnly))
	}
	return "", nil
}

// monthOf gives the calendar month (UTC) that a time is in: its beginning, and the next one's.
func monthOf(now time.Time) (from, to time.Time) {
	from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0)
}

func (s *Server) readSpending(ctx context.Context, key Key, now time.Time) (usd float64, err error) {
	if s.opts.Spent == nil {
		return 0, errors.New("nothing tells what a key has spent")
	}
	month, next := monthOf(now)
	use, err := s.opts.Spent(ctx, key.Tenant, key.Name, month, next)
	if err != nil {
		s.limits.unread(key.Name)
		return 0, err
	}
	read := s.opts.Now()
	s.limits.setSpending(key.Name, spending{usd: use.CostUSD, month: month, until: read.Add(max(spendingAge, readingShare*read.Sub(now)))})
	return use.CostUSD, nil
}

// spending gives what a key has spent; where it is false the caller has to ask the store, and everybody else need not meanwhile.
func (l *limits) spending(name mooring.KeyName, month, now time.Time) (usd float64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.keys[name]
	if state == nil || !state.spent.month.Equal(month) {
		return 0, false
	}
	if now.Before(state.spent.until) || state.spent.reading {
		return state.spent.usd, true
	}
	state.spent.reading = true
	return 0, false
}

func (l *limits) setSpending(name mooring.KeyName, sp spending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state := l.keys[name]; state != nil {
		state.spent = sp
	}
}

func (l *limits) unread(name mooring.KeyName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state := l.keys[name]; state != nil {
		state.spent.reading = false
	}
}

// Spend notes what a turn of a key cost that began at a time and has ended, so that its next request is held against that, too.
func (s *Server) Spend(name mooring.KeyName, began time.Time, usd float64) {
	l := &s.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.keys[name]
	if state == nil || state.spent.month.IsZero() || began.Before(state.spent.month) {
		return
	}
	state.spent.usd += usd
}

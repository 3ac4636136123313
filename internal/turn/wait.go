package turn

import (
	"context"
	"time"

	"mooring"
)

// How long an upstream is waited for, and between two tries: a server that restarts is there again within seconds, and must not
// find the door besieged.
const (
	longestWait = 10 * time.Second
	firstPause  = 100 * time.Millisecond
	pauseMax    = time.Second
)

// patience is the wait for an upstream that does not answer, from the first try on. The zero one has not begun.
type patience struct {
	until time.Time
	pause time.Duration // before the next try
	tries int           // after the first
}

// began says that the upstream is, or was, waited for.
func (p *patience) began() bool { return p.tries > 0 }

// again says whether there is time for another try; the upstream may have said when not to come before.
func (p *patience) again(now, began time.Time, notBefore time.Duration) bool {
	if !p.began() {
		p.until, p.pause = began.Add(longestWait), firstPause/2
	}
	left := p.until.Sub(now)
	p.pause = max(min(2*p.pause, pauseMax, left), notBefore)
	if p.pause <= 0 || p.pause > left {
		return false
	}
	p.tries++
	return true
}

// rest pauses before the next try, where there is one to be waited for; the end of the context ends it.
func (p *patience) rest(ctx context.Context) {
	if !p.began() {
		return
	}
	pause := time.NewTimer(p.pause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// retryAfterWait is what a client is told to wait whose upstream was waited for in vain.
const retryAfterWait = 5 * time.Second

// inVain is the error of a turn whose upstream was waited for and could not be reached.
func (t *running) inVain(err error) error {
	return &mooring.Error{
		Code: mooring.CodeUpstreamUnavailable, Safe: "The upstream " + string(t.target.Name) + " could not be reached for " + longestWait.String() + "; try again, or ask whoever runs it.",
		RetryAfter: retryAfterWait, Err: err,
	}
}

// sameTry says that an attempt is one more try at an upstream that is waited for, and came to the same end.
func (t *running) sameTry(a *mooring.Attempt) bool {
	n := len(t.turn.Attempts)
	if n <= t.earlier || !t.wait.began() {
		return false
	}
	last := &t.turn.Attempts[n-1]
	return last.Upstream == a.Upstream && last.Account == a.Account && last.Model == a.Model && last.Status == a.Status &&
		last.State == mooring.Failed && a.State == mooring.Failed && a.Usage == (mooring.Usage{})
}

package turn

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mooring"
)

// table holds the turns that run in this process, so that others can find and end them.
type table struct {
	mu     sync.Mutex // guards the maps
	ofChat map[chat]map[*running]bool
	ofBody map[body]map[*running]bool
	ofTurn map[turnKey]*running
	ofSend map[sendKey]*tape // those of turns that have ended a short while ago, too
	past   past
}

type turnKey struct {
	tenant mooring.Tenant
	turn   mooring.TurnID
}

type chat struct {
	tenant  mooring.Tenant
	session mooring.SessionID
}

type body struct {
	tenant mooring.Tenant
	digest string
}

// enter adds a turn whose session is known. It may move to another session later, by entering again.
func (b *table) enter(t *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ofChat == nil {
		b.ofChat, b.ofBody = map[chat]map[*running]bool{}, map[body]map[*running]bool{}
	}
	b.number(t, t.turn.ID)
	now := chat{t.req.Caller.Tenant, t.found.Known.ID}
	if t.listed != now {
		remove(b.ofChat, t.listed, t)
		add(b.ofChat, now, t)
		t.listed = now
	}
	t.unnamed = t.nameless
	add(b.ofBody, t.body(), t)
}

// step takes a turn aside that has to wait once more: it is found by its id alone until it enters again.
func (b *table) step(t *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	remove(b.ofChat, t.listed, t)
	remove(b.ofBody, t.body(), t)
	t.listed = chat{}
}

// all are the turns that have an id.
func (b *table) all() map[turnKey]*running {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ofTurn)
}

// await lists a turn that has an id before it begins, so that it can be ended while it waits.
func (b *table) await(t *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number(t, t.turn.ID)
}

// number lists a turn under its id.
func (b *table) number(t *running, id mooring.TurnID) {
	if b.ofTurn == nil {
		b.ofTurn = map[turnKey]*running{}
	}
	key := turnKey{t.req.Caller.Tenant, id}
	if t.numbered != key {
		b.unnumber(t)
		b.ofTurn[key], t.numbered = t, key
	}
}

func (b *table) unnumber(t *running) {
	if b.ofTurn[t.numbered] == t {
		delete(b.ofTurn, t.numbered)
	}
}

// leave takes a turn out. Where others follow it, or may look for it, they find it for a short while yet.
func (b *table) leave(t *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	remove(b.ofChat, t.listed, t)
	remove(b.ofBody, t.body(), t)
	b.unnumber(t)
	b.keep(t)
}

// running gives a turn that runs.
func (b *table) running(key turnKey) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ofTurn[key]
}

func add[K comparable](m map[K]map[*running]bool, key K, t *running) {
	if m[key] == nil {
		m[key] = map[*running]bool{}
	}
	m[key][t] = true
}

func remove[K comparable](m map[K]map[*running]bool, key K, t *running) {
	delete(m[key], t)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

// fence ends all turns of a session: nothing more of their answers is written or sent.
func (b *table) fence(key chat, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.ofChat[key] {
		t.cancel(why)
	}
}

// earlier gives a turn of an equal request for which same says that this one is sent in its place; nil where there is none. Of the
// other one, same may only read what does not change, or what the table's lock guards.
func (b *table) earlier(t *running, same func(other *running) bool) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.ofBody[t.body()] {
		if other != t && same(other) {
			return other
		}
	}
	return nil
}

func (t *running) body() body { return body{t.req.Caller.Tenant, string(t.digest)} }

// The errors that a turn is told when another request ends it.
func errReset() *mooring.Error {
	return mooring.Errorf(mooring.CodeTurnCancelled, "The chat was begun anew while this turn ran.")
}

func errStopped() *mooring.Error {
	return mooring.Errorf(mooring.CodeTurnCancelled, "The turn was stopped.")
}

func errAlone() error {
	return mooring.Errorf(mooring.CodeTurnCancelled, "Nobody listened to this turn any more.")
}

func errShutdown() error {
	return mooring.Errorf(mooring.CodeTurnCancelled, "The server was shut down while this turn ran.")
}

func errAgain() *mooring.Error {
	return mooring.Errorf(mooring.CodeTurnCancelled, "The same request was sent again while this turn ran, and goes on in its place.")
}

// fenced says that another request has ended this turn.
func fenced(ctx context.Context) *mooring.Error {
	if ctx.Err() == nil {
		return nil
	}
	var own *mooring.Error
	if errors.As(context.Cause(ctx), &own) && own.Code == mooring.CodeTurnCancelled {
		return own
	}
	return nil
}

// giveWay is how long a request that is sent again waits for the end of the one in whose place it goes on.
const giveWay = 10 * time.Second

// replace ends the running turn of the same request, where this one says that it is sent again: by a count of retries, or by the
// key that both have. It then goes on as that turn's next attempt.
func (t *running) replace(ctx context.Context) (replaced bool, err error) {
	key, again := idempotencyKey(t.req.Header), retryCount(t.req.Header) > 0
	if key == "" && !again {
		return false, nil
	}
	here := t.found.Known.ID
	if t.former != nil {
		here = t.former.Known.ID // where the request's first try has begun the chat anew
	}
	other := t.table.earlier(t, func(o *running) bool {
		same := o.listed.session == here || o.unnamed && t.nameless
		return same && (again || key == idempotencyKey(o.req.Header))
	})
	if other == nil {
		return t.replaceElsewhere(ctx, here)
	}
	other.cancel(errAgain())
	late := time.NewTimer(giveWay)
	defer late.Stop()
	select {
	case <-other.tape.done:
		return true, nil
	case <-late.C:
		return false, busy("The request that this one is sent again for does not end")
	case <-ctx.Done():
		return false, context.Canceled
	}
}

// oneByOne lets of several requests with one body and one key only one at a time be on its way into the table, so that the next
// one finds it there. It is over when the turn stands there, and its session is known.
func (t *running) oneByOne(ctx context.Context) error {
	key := idempotencyKey(t.req.Header)
	if key == "" {
		return nil
	}
	gate := laneKey{tenant: t.req.Caller.Tenant, Alias: mooring.Alias{Class: "\x00body", Value: string(t.digest) + key}}
	s, _, err := t.lanes.enter(ctx, gate, Queue, Rules{QueueDepth: math.MaxInt, QueueWait: max(giveWay, t.Rules().QueueWait)})
	t.gate = s
	return err
}

// open lets the next one of them come.
func (t *running) open() {
	if t.gate != nil {
		t.lanes.leave(t.gate)
		t.gate = nil
	}
}

func idempotencyKey(h http.Header) string { return h.Get("Idempotency-Key") }

// retryCount is how often an SDK says that it has sent this request before (OpenAI's and Anthropic's SDKs, measured).
func retryCount(h http.Header) int {
	n, err := strconv.Atoi(h.Get("X-Stainless-Retry-Count"))
	if err != nil {
		return 0
	}
	return n
}

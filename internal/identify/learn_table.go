package identify

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// What it takes until a header is believed, and how much is kept for that.
//
// A header that goes with a person, a device or a process looks like one that goes with a conversation for as long as nobody has
// held two. What tells them apart is the first one who does, and the more sessions there are the sooner that is: with n equally
// busy ones the first five sessions are of five different ones never where n is up to 4. Only sessions of one client key and one
// program count together, for a header that goes with either has one value there.
const (
	turnsEnough   = 3   // turns of a session that had the same value, the first one included
	sessionsKnown = 5   // sessions with that many turns, each with a value of its own
	maxTraits     = 16  // unknown headers of one request that are looked at
	maxNames      = 128 // headers that a tenant's table holds, refused ones included
	maxBelieved   = 4
	maxDoubts     = 5   // requests that only the header puts into a session whose client else sends what was said before
	newValues     = 2   // doubts that a new session with a value of its own outweighs
	maxWatched    = 16  // values of a header that is watched
	maxKept       = 128 // values of a header that is believed: its older sessions are found by their aliases
)

// The reasons why a header is refused.
const (
	whyTwoSessions = "one value came in two sessions"
	whyTwoValues   = "one session came with two values"
	whyDoubts      = "too many conversations began with values that were in use"
)

// seenValue is the value that a header had in a session.
type seenValue struct {
	session mooring.SessionID
	digest  wire.Digest
	client  [8]byte
	turns   int
	stored  int  // turns that the store knows of
	told    bool // the session was told from others by its content or by a stronger signal
	whole   bool // by its content
	at      time.Time
}

// done says that nothing more is to be found out of this session.
func (v *seenValue) done() bool { return v.told && v.turns >= turnsEnough && v.stored >= turnsEnough }

// lesson is what is known of one header.
type lesson struct {
	name     string
	state    mooring.LearnState
	believed time.Time
	refused  time.Time
	why      string
	doubts   int
	values   []seenValue // the last used last
	used     uint64
	fresh    bool // the store knows nothing of it
}

// lessons is what is known of a tenant's headers.
type lessons struct {
	size atomic.Int64 // rough bytes

	mu       sync.Mutex // guards the fields below
	names    map[string]*lesson
	believed []*lesson // the first believed first
	surplus  []mooring.LearnedDrop
	ticks    uint64
	loaded   bool
	reading  bool
	readAt   time.Time
}

// Rough sizes in bytes, for the bound of memory.
const (
	tenantBytes = 400
	lessonBytes = 260
	valueBytes  = 140
)

func newLessons() *lessons {
	t := &lessons{names: map[string]*lesson{}}
	t.size.Store(tenantBytes)
	return t
}

// seeing is what a turn showed of a header.
type seeing struct {
	seenValue
	former mooring.SessionID // the session before, where the chat was reset: it is the same chat
}

// shown is what follows from it.
type shown struct {
	twoValues bool
	rivals    []mooring.SessionID // other sessions that had the same value
	dropped   []mooring.LearnedDrop
}

// at gives the position of a session's value; -1 where there is none.
func (l *lesson) at(s mooring.SessionID) int {
	for i, v := range slices.Backward(l.values) {
		if v.session == s {
			return i
		}
	}
	return -1
}

// settled says that a turn shows nothing new of a header: it is refused, or known to have this value in this session. It marks
// both as used.
func (l *lesson) settled(s mooring.SessionID, d wire.Digest) bool {
	i := l.at(s)
	if i < 0 || l.values[i].digest != d || !l.values[i].done() {
		return false
	}
	l.touch(i)
	return true
}

// touch makes a value the last used one.
func (l *lesson) touch(i int) {
	last := len(l.values) - 1
	if i == last {
		return
	}
	v := l.values[i]
	copy(l.values[i:], l.values[i+1:])
	l.values[last] = v
}

// see takes in what a turn showed.
func (l *lesson) see(s seeing) shown {
	var out shown
	i := l.at(s.session)
	if i < 0 && s.former != "" {
		if j := l.at(s.former); j >= 0 && l.values[j].digest == s.digest {
			i = j
			out.dropped = l.drop(out.dropped, &l.values[j])
			l.values[j].session, l.values[j].stored = s.session, 0
		}
	}
	if i < 0 {
		out.dropped = l.room(out.dropped)
		l.values = append(l.values, s.seenValue)
		i = len(l.values) - 1
	}
	v := &l.values[i]
	if v.digest != s.digest {
		out.twoValues = true
		return out
	}
	v.turns, v.told, v.whole, v.at = min(v.turns+1, turnsEnough), v.told || s.told, v.whole || s.whole, s.at
	if v.told {
		out.rivals = l.rivals(v)
	}
	l.touch(i)
	return out
}

// rivals are the other sessions, told apart from this one, that had the same value.
func (l *lesson) rivals(v *seenValue) []mooring.SessionID {
	var out []mooring.SessionID
	for i := range l.values {
		if o := &l.values[i]; o.told && o.session != v.session && o.digest == v.digest {
			out = append(out, o.session)
		}
	}
	return out
}

// room makes room for one more value: of those of sessions that nothing has told apart the longest unused goes first.
func (l *lesson) room(dropped []mooring.LearnedDrop) []mooring.LearnedDrop {
	bound := maxWatched
	if l.state == mooring.LearnBelieved {
		bound = maxKept
	}
	if len(l.values) < bound {
		return dropped
	}
	i := max(0, slices.IndexFunc(l.values, func(v seenValue) bool { return !v.told }))
	dropped = l.drop(dropped, &l.values[i])
	l.values = slices.Delete(l.values, i, i+1)
	return dropped
}

func (l *lesson) drop(dropped []mooring.LearnedDrop, v *seenValue) []mooring.LearnedDrop {
	if v.stored == 0 {
		return dropped
	}
	return append(dropped, mooring.LearnedDrop{Name: l.name, Session: v.session})
}

// without forgets the value of a session that is gone.
func (l *lesson) without(s mooring.SessionID) {
	if i := l.at(s); i >= 0 {
		l.values = slices.Delete(l.values, i, i+1)
	}
}

// convincing says that enough sessions of one client had a value of their own.
func (l *lesson) convincing() bool {
	of := map[[8]byte]int{}
	for i := range l.values {
		v := &l.values[i]
		if !v.told || v.turns < turnsEnough {
			continue
		}
		if of[v.client]++; of[v.client] >= sessionsKnown {
			return true
		}
	}
	return false
}

// doubt counts a request that only the header puts into a session whose client else sends what was said before. A header that goes
// with people, say, shows itself so: each of them begins another conversation sooner or later. It says whether it is one too many.
func (l *lesson) doubt(s mooring.SessionID) (counted, tooMany bool) {
	i := l.at(s)
	if l.state != mooring.LearnBelieved || i < 0 || !l.values[i].whole {
		return false, false
	}
	l.doubts++
	return true, l.doubts > maxDoubts
}

// refuse is for good.
func (l *lesson) refuse(why string, now time.Time) {
	l.state, l.why, l.refused, l.values = mooring.LearnRefused, why, now, nil
}

// of gives the lesson of a name, and marks it as used. The caller holds mu.
func (t *lessons) of(name string) *lesson {
	l := t.names[name]
	if l != nil {
		t.ticks++
		l.used = t.ticks
	}
	return l
}

// begin makes a lesson. Where there are too many of them the one goes that has been watched without use for longest; what was
// found out stays. It gives nil where there is nothing but that.
func (t *lessons) begin(name string) (l *lesson, forgot string) {
	if len(t.names) >= maxNames {
		var oldest *lesson
		for _, o := range t.names {
			if o.state == mooring.LearnWatched && (oldest == nil || o.used < oldest.used) {
				oldest = o
			}
		}
		if oldest == nil {
			return nil, ""
		}
		delete(t.names, oldest.name)
		if !oldest.fresh {
			forgot = oldest.name
		}
	}
	t.ticks++
	l = &lesson{name: name, used: t.ticks, fresh: true}
	t.names[name] = l
	return l, forgot
}

// sort lists the believed ones anew, and measures the table. The caller holds mu.
func (t *lessons) sort() {
	t.believed = t.believed[:0:0]
	bytes := int64(tenantBytes)
	for _, l := range t.names {
		bytes += lessonBytes + int64(len(l.values))*valueBytes
		if l.state == mooring.LearnBelieved {
			t.believed = append(t.believed, l)
		}
	}
	slices.SortFunc(t.believed, func(a, b *lesson) int {
		if n := a.believed.Compare(b.believed); n != 0 {
			return n
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	t.size.Store(bytes)
}

// merge takes in what the store knows, which other replicas may have found out. The further state wins.
func (t *lessons) merge(list []mooring.LearnedHeader, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		h := &list[i]
		l := t.names[h.Name]
		if l == nil {
			if l, _ = t.begin(h.Name); l == nil {
				continue
			}
		}
		l.fresh = false
		if h.State > l.state {
			l.state, l.believed, l.refused, l.why, l.doubts = h.State, h.Believed, h.Refused, h.Why, h.Doubts
		}
		if l.state == mooring.LearnRefused {
			l.values = nil
			continue
		}
		for j := range h.Values {
			t.surplus = l.take(&h.Values[j], t.surplus)
		}
	}
	t.loaded, t.reading, t.readAt = true, false, now
	t.sort()
}

// take takes in a value that the store knows.
func (l *lesson) take(v *mooring.LearnedValue, surplus []mooring.LearnedDrop) []mooring.LearnedDrop {
	o := seenValue{session: v.Session, turns: v.Turns, stored: v.Turns, told: true, whole: v.Whole, at: v.At}
	if copy(o.digest[:], v.Digest) != len(o.digest) || copy(o.client[:], v.Client) != len(o.client) {
		return surplus
	}
	if i := l.at(v.Session); i >= 0 {
		if k := &l.values[i]; k.digest == o.digest {
			k.turns, k.stored, k.told, k.whole = max(k.turns, o.turns), max(k.stored, o.turns), true, k.whole || o.whole
		}
		return surplus
	}
	surplus = l.room(surplus)
	l.values = append(l.values, o)
	return surplus
}

// due says that the table is to be read, and that the caller is the one to do it.
func (t *lessons) due(now time.Time, every time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.loaded:
		return true
	case every <= 0 || t.reading || now.Sub(t.readAt) < every:
		return false
	}
	t.reading = true
	return true
}

// unread is for a reading that failed; it is tried again when the next one is due. It says that nothing was ever read.
func (t *lessons) unread(now time.Time) (never bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading, t.readAt = false, now
	return !t.loaded
}

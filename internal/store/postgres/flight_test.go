package postgres_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"mooring"
)

// A database is behind a network: what a turn costs there is how often something goes there and back.
func TestTurnTakesFewFlights(t *testing.T) {
	t.Parallel()
	const most = 4 // a begin and an end, each with the commit behind it
	dsn, _ := database(t, "mooring_flights")
	counted := &flights{}
	store := open(t, counted.between(t, dsn))
	first := newSession("ses_1", "chat")
	apply := func(c mooring.Change) {
		t.Helper()
		if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Outcome() != nil {
			t.Fatal(err, c.Outcome())
		}
	}
	end := func(turn mooring.TurnID) *mooring.End {
		answer := mooring.Message{Tenant: "acme", Session: "ses_1", ID: mooring.MessageID("msg_of_" + turn), Turn: turn, Content: []byte("Good."), Seen: []byte(turn)}
		return &mooring.End{
			Turn:   mooring.Turn{Tenant: "acme", ID: turn, Session: "ses_1", State: mooring.Completed, EndedAt: time.Now()},
			Answer: &answer, Bind: &mooring.Pin{Tenant: "acme", Session: "ses_1", Set: "north", Upstream: "north", Turn: turn},
		}
	}
	apply(first)
	apply(end(first.Turn.ID))
	for n := 2; n < 5; n++ {
		begin := newSession("ses_1", "chat")
		begin.New, begin.Named = false, mooring.Alias{Class: mooring.ClassAny, Value: "chat"}
		begin.Turn.ID, begin.Messages[0].ID = mooring.TurnID(fmt.Sprintf("trn_%d", n)), mooring.MessageID(fmt.Sprintf("msg_%d", n))
		before := counted.so()
		apply(begin)
		apply(end(begin.Turn.ID))
		if took := counted.so() - before; n > 2 && took > most { // the first one has its statements prepared
			t.Errorf("the turn was %d flights, want at most %d", took, most)
		}
	}
}

// Changes that are refused do not have all the others of their batch written anew each.
func TestRefusedChangesTakeFewFlights(t *testing.T) {
	t.Parallel()
	const refused = 100
	dsn, _ := database(t, "mooring_refused_flights")
	counted := &flights{}
	store := open(t, counted.between(t, dsn))
	batch := []mooring.Change{newSession("ses_1", "chat")}
	for n := range refused {
		batch = append(batch, &mooring.End{Turn: mooring.Turn{Tenant: "acme", ID: mooring.TurnID(fmt.Sprint("trn_gone_", n)), Session: "ses_gone", State: mooring.Completed}})
	}
	before := counted.so()
	if err := store.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if took := counted.so() - before; took > 4*refused {
		t.Errorf("%d flights, want at most %d", took, 4*refused)
	}
}

// flights counts how often a client waits for its server.
type flights struct {
	mu   sync.Mutex
	sent bool // and not answered yet
	n    int
}

func (f *flights) so() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// between gives the address of a server that hands everything on to the one of an address.
func (f *flights) between(t *testing.T, dsn string) string {
	t.Helper()
	return line(t, dsn, f.pass)
}

func (f *flights) pass(to, from net.Conn, side int) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		f.mu.Lock()
		if side == there && !f.sent {
			f.n++
		}
		f.sent = side == there
		f.mu.Unlock()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

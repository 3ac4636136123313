package postgres_test

import (
	"bytes"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"mooring"
)

// A connection may be lost at any byte of a flight, on its way there or back: the store says that it is unavailable, and the same batch
// applied again is there once.
func TestConnectionLostWithinAFlight(t *testing.T) {
	t.Parallel()
	dsn, run := database(t, "mooring_torn")
	weak := &torn{}
	weak.after(there, whole)
	weak.after(back, whole)
	store, direct := open(t, line(t, dsn, weak.pass)), open(t, dsn)
	lost := 0
	for n := range 100 {
		id, side, bytes := fmt.Sprint("ses_", n), n%2, int64(1+n*n*7%30000)
		begin, end := largeTurn(id)
		weak.after(side, bytes)
		for tries := 0; ; tries++ {
			err := store.Apply(t.Context(), []mooring.Change{begin, end})
			weak.after(side, whole)
			if err == nil {
				break
			}
			if lost++; mooring.CodeOf(err) != mooring.CodeStoreUnavailable || tries > 5 {
				t.Fatalf("lost after %d bytes of direction %d: %v, want store_unavailable", bytes, side, err)
			}
		}
		s, err := direct.Session(t.Context(), "acme", begin.Session.ID)
		if err != nil || begin.Err != nil || end.Err != nil || s.Turns != 1 || s.State != mooring.Completed {
			t.Errorf("lost after %d bytes of direction %d: %+v, %v, %v, %v; want one completed turn", bytes, side, s, err, begin.Err, end.Err)
		}
	}
	if lost < 20 {
		t.Errorf("the connection was lost %d times only", lost)
	}
	run(`DO $$ BEGIN IF EXISTS (SELECT 1 FROM blob WHERE refs <> 2) THEN RAISE EXCEPTION 'contents are held too often'; END IF; END $$`)
	readOn(t, direct, "acme", 0)
}

// largeTurn has a question and an answer of one content that stands apart.
func largeTurn(id string) (*mooring.Begin, *mooring.End) {
	begin := newSession(id, id)
	content := bytes.Repeat([]byte(id), 1000)
	begin.Messages = append(begin.Messages, mooring.Message{ID: mooring.MessageID("large_" + id), Content: content})
	return begin, &mooring.End{
		Turn:   mooring.Turn{Tenant: "acme", ID: begin.Turn.ID, Session: begin.Session.ID, State: mooring.Completed, EndedAt: time.Unix(9, 0)},
		Answer: &mooring.Message{Tenant: "acme", ID: mooring.MessageID("answer_" + id), Turn: begin.Turn.ID, Content: content, Seen: []byte(id)},
	}
}

// torn is a line to a server that breaks after some bytes of a direction.
type torn struct{ left [2]atomic.Int64 }

const whole = 1 << 50

func (l *torn) after(side int, bytes int64) { l.left[side].Store(bytes) }

func (l *torn) pass(to, from net.Conn, side int) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		left := l.left[side].Add(-int64(n))
		if left < 0 {
			_, _ = to.Write(buf[:max(0, left+int64(n))])
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

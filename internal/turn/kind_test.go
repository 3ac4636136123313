package turn_test

import (
	"net/http"
	"testing"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstreamtest"
)

// beside marks a request as one beside its conversation, by a header of the program that sends it.
func beside(req turn.Request) turn.Request {
	req.Header = req.Header.Clone()
	req.Header.Set("X-Claude-Code-Request-Class", "auxiliary")
	return req
}

func TestRequestsBesideAConversation(t *testing.T) {
	t.Parallel()
	t.Run("one moves no tip, keeps no message, and is counted", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, moving(), spec("a", upstreamtest.New(t)))
		first := h.must(h.chat("s1", "one", ""))
		before := h.session(first.about.Session)
		side := h.must(beside(h.chat("s1", "a title, please", "")))
		after := h.session(first.about.Session)
		if side.about.Session != first.about.Session || side.about.Kind != mooring.KindSide {
			t.Fatalf("about = %+v", side.about)
		}
		if after.Tip != before.Tip || after.TipTurn != before.TipTurn || after.Turns != before.Turns || after.Title != before.Title || after.SideOnly {
			t.Errorf("the session has moved: %+v, before %+v", after, before)
		}
		got := h.stored(side.about.Turn)
		if got.Kind != mooring.KindSide || got.Question != "" || got.Answer != "" || got.State != mooring.Completed {
			t.Errorf("stored: %+v", got)
		}
	})
	t.Run("the first one opens a session of nothing else, until a turn comes", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, moving(), spec("a", upstreamtest.New(t)))
		side := h.must(beside(h.chat("s1", "quota", "")))
		s := h.session(side.about.Session)
		if !s.SideOnly || s.Turns != 0 || s.Tip != "" || s.Title != "" || side.about.Pin != "" {
			t.Errorf("after the first: %+v, pin %q", s, side.about.Pin)
		}
		main := h.must(h.chat("s1", "plan a trip", ""))
		s = h.session(side.about.Session)
		if main.about.Session != side.about.Session || main.about.Kind != mooring.KindMain || main.about.Pin != mooring.PinNew {
			t.Errorf("the turn: %+v", main.about)
		}
		if s.SideOnly || s.Turns != 1 || s.Tip == "" || s.Title != "plan a trip" {
			t.Errorf("after the turn: %+v", s)
		}
	})
	t.Run("one takes no place in the queue", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		rules := moving()
		rules.Concurrency = turn.Reject
		h := newHouse(t, rules, spec("a", u))
		h.must(h.chat("s1", "one", ""))
		gate := make(chan struct{})
		u.Queue(upstreamtest.Reply{Hold: gate})
		done := make(chan error, 1)
		go func() {
			_, err := h.run(h.chat("s1", "two", ""))
			done <- err
		}()
		if _, err := u.WaitPosts(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if _, err := h.run(h.chat("s1", "three", "")); mooring.CodeOf(err) != mooring.CodeSessionBusy {
			t.Errorf("a second turn: %v, want session_busy", err)
		}
		h.must(beside(h.chat("s1", "a title, please", "")))
		close(gate)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("an upstream with a state of its own hears of it under a fresh id", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		remote := spec("a", u)
		remote.Remote, remote.SessionHeaders = true, []string{"X-Hermes-Session-Id"}
		h := newHouse(t, moving(), remote)
		sent := func(req turn.Request) string {
			h.must(req)
			return u.LastPost(t).Header.Get("X-Hermes-Session-Id")
		}
		first, side, again := sent(h.chat("s1", "one", "")), sent(beside(h.chat("s1", "a title", ""))), sent(h.chat("s1", "two", ""))
		if first != "s1" || side == first || side == "" || again != first {
			t.Errorf("ids %q, %q, %q; want a fresh one for the second alone", first, side, again)
		}
	})
}

func TestACompactionIsATurnOfItsSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, moving(), spec("a", upstreamtest.New(t)))
	first := h.must(h.chat("s1", "one", ""))
	req := h.chat("s1", "sum it up", "")
	req.Header.Set("X-Claude-Code-Request-Class", "compaction")
	got := h.must(req)
	s := h.session(first.about.Session)
	if got.about.Session != s.ID || got.about.Kind != mooring.KindCompaction || s.Turns != 2 || s.TipTurn != got.about.Turn {
		t.Errorf("about = %+v, session = %+v", got.about, s)
	}
}

func TestAParentThatComesLaterIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, moving(), spec("a", upstreamtest.New(t)))
	child := func(text string) turn.Request {
		req := h.chat("child", text, "")
		req.Header.Set("X-Parent-Session-Id", "parent")
		return req
	}
	if first := h.must(child("one")); first.about.Parent != "" || first.about.Kind != mooring.KindSubagent {
		t.Errorf("before: %+v", first.about)
	}
	parent := h.must(h.chat("parent", "hello", ""))
	for _, text := range []string{"two", "three"} {
		if got := h.must(child(text)); got.about.Parent != parent.about.Session {
			t.Errorf("%s: parent = %q, want %s", text, got.about.Parent, parent.about.Session)
		}
	}
	late := beside(child("four"))
	if got := h.must(late); got.about.Parent != parent.about.Session || got.about.Kind != mooring.KindSide {
		t.Errorf("beside it: %+v", got.about)
	}
}

// must runs a turn that has to be answered.
func (h *house) must(req turn.Request) *sink {
	h.t.Helper()
	s, err := h.run(req)
	if err != nil || s.head.Status != http.StatusOK {
		h.t.Fatalf("turn: %v, %+v", err, s.head)
	}
	return s
}

// session is a session as the store has it.
func (h *house) session(id mooring.SessionID) mooring.Session {
	h.t.Helper()
	got, err := h.store.Session(h.t.Context(), "acme", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

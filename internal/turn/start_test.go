package turn_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstreamtest"
	"mooring/internal/wire"
)

func never() time.Duration { return time.Hour }

// start starts a turn of the server's.
func (h *house) start(req turn.Request) *turn.Live {
	h.t.Helper()
	l, err := h.Start(h.t.Context(), req, never)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// closing ends the house's turns with the test and sees that nothing is left of them.
func (h *house) closing() *house {
	h.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		h.Close(ctx)
		if !h.Nothing() {
			h.t.Error("something is left in the tables of turns")
		}
	})
	return h
}

// page is a message of a page in the chat of that key, with its history before it.
func (h *house) page(key, clientMessage string, texts ...string) turn.Request {
	h.t.Helper()
	var list []string
	for i, text := range texts {
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[i%2], text))
	}
	body := fmt.Sprintf(`{"model":"fake-1","stream":true,"messages":[%s]}`, strings.Join(list, ","))
	w, err := wire.Decode(mooring.Chat, []byte(body), wire.Limits{})
	if err != nil {
		h.t.Fatal(err)
	}
	req := h.chat(key, "x", "")
	req.Body, req.Wire, req.ClientMessage = bytes(body), w, clientMessage
	return req
}

// until reads a turn up to some text in its bytes.
func until(t *testing.T, l *turn.Live, text string) {
	t.Helper()
	got := ""
	for !strings.Contains(got, text) {
		fresh, ended, err := l.Read(t.Context(), len(got))
		if err != nil || ended {
			t.Fatalf("ended = %v, %v, before %q came: %q", ended, err, text, got)
		}
		got += string(fresh)
	}
}

func (h *house) answer(of mooring.Turn) string {
	h.t.Helper()
	m, err := h.store.Content(h.t.Context(), "acme", of.Answer)
	if err != nil {
		h.t.Fatal(err)
	}
	_, text := wire.Render(mooring.Chat, m.Content)
	return text
}

// H-30: a turn of the server's needs no listener, and whoever comes late reads what its client would have read, from the first byte on.
func TestTurnOfTheServer(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u)).closing()
	hold := make(chan struct{})
	reply := upstreamtest.Reply{Text: "one two three four", At: 3, HoldAt: hold}
	u.Queue(reply, upstreamtest.Reply{Text: reply.Text})
	ctx, cancel := context.WithCancel(t.Context())
	l, err := h.Start(ctx, h.page("s1", "", "hi"), never)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // it goes on without whoever has begun it
	about := l.About()
	if got := h.stored(about.Turn); got.State != mooring.Running || about.Session != got.Session || about.ClientID != "s1" || l.Protocol() != mooring.Chat {
		t.Errorf("it is said to be %+v, the store has %+v", about, got)
	}
	until(t, l, "one")
	second, ok := h.Follow("acme", about.Turn)
	if !ok {
		t.Fatal("it cannot be followed")
	}
	if _, seen := h.Follow("rival", about.Turn); seen || h.Cancel("rival", about.Turn) {
		t.Error("another tenant sees it")
	}
	close(hold)
	first, late := read(t, l), read(t, second)
	s, err := h.run(h.page("s2", "", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	if first != late || !strings.HasSuffix(first, "data: [DONE]\n\n") || len(first) != len(s.body) {
		t.Errorf("followers read %q and %q, a client %q", first, late, s.body)
	}
	ended, why := l.Outcome()
	if got := h.stored(about.Turn); why != nil || ended.State != mooring.Completed || got.State != mooring.Completed || h.answer(got) != reply.Text {
		t.Errorf("outcome %+v, %v; stored %+v", ended, why, got)
	}
	again, ok := h.Follow("acme", about.Turn)
	if !ok || read(t, again) != first {
		t.Error("just after its end it is not there any more")
	}
	if l.Head().Length >= 0 || h.Cancel("acme", about.Turn) {
		t.Error("what has ended can be cancelled, or is no stream")
	}
}

// A turn of a client can be followed and stopped by others; the client reads so in its own protocol, and what came is kept.
func TestFollowAndCancelTurnOfAClient(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u)).closing()
	u.Queue(upstreamtest.Reply{Text: "one two three four", At: 3, HoldAt: make(chan struct{})})
	s, begun := &sink{}, make(chan struct{})
	var once sync.Once
	s.before = func(string) { once.Do(func() { close(begun) }) }
	done := make(chan error, 1)
	go func() { done <- h.Run(t.Context(), h.page("s1", "", "hi"), s) }()
	<-begun
	s.mu.Lock()
	id := s.about.Turn
	s.mu.Unlock()
	l, ok := h.Follow("acme", id)
	if !ok || !h.Cancel("acme", id) {
		t.Fatal("it is not found")
	}
	got := read(t, l)
	if err := <-done; err != nil || got != s.body || !strings.Contains(got, "one") || !strings.Contains(got, "turn_cancelled") {
		t.Errorf("%v; the client read %q, who followed it %q", err, s.body, got)
	}
	if _, err := l.Outcome(); mooring.CodeOf(err) != mooring.CodeTurnCancelled {
		t.Errorf("outcome %v, want turn_cancelled", err)
	}
	of := h.stored(id)
	if of.State != mooring.Cancelled || of.ErrorCode != mooring.CodeTurnCancelled || !strings.Contains(h.answer(of), "one") {
		t.Errorf("stored %+v", of)
	}
	if h.Cancel("acme", id) || h.Cancel("acme", "trn_x") {
		t.Error("what does not run is said to be cancelled")
	}
}

// C176: without a listener for long enough it is cancelled, and what came is kept.
func TestTurnThatNobodyListensTo(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u)).closing()
	u.Queue(upstreamtest.Reply{Text: "one two three four", At: 3, HoldAt: make(chan struct{})})
	l, err := h.Start(t.Context(), h.page("s1", "", "hi"), func() time.Duration { return 50 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	leave := l.Join()
	until(t, l, "one")
	leave()
	<-l.Done()
	of := h.stored(l.About().Turn)
	if of.State != mooring.Cancelled || !strings.Contains(h.answer(of), "one") {
		t.Errorf("stored %+v", of)
	}
	post := u.LastPost(t)
	for end := time.Now().Add(2 * time.Second); post.Gone().IsZero(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the upstream still answers")
		}
	}
}

// A send that is repeated is the same turn: while it runs, at the same moment, afterwards, and in a process that has not seen it.
func TestSendThatIsRepeated(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	rules := moving()
	rules.Concurrency = turn.Queue
	h := newHouse(t, rules, spec("a", u)).closing()
	hold := make(chan struct{})
	u.Always(upstreamtest.Reply{Hold: hold})
	lives := make([]*turn.Live, 9)
	var group sync.WaitGroup
	for i := range lives[:8] {
		group.Go(func() { lives[i] = h.start(h.page("s1", "m-1", "hi")) })
	}
	group.Wait()
	lives[8] = h.start(h.page("s1", "m-1", "hi")) // it is found by its session now
	other := h.start(h.page("s2", "m-1", "hi"))
	close(hold)
	want := read(t, lives[0])
	for i, l := range lives {
		if l.About().Turn != lives[0].About().Turn || read(t, l) != want {
			t.Errorf("send %d is turn %s, the first one %s", i, l.About().Turn, lives[0].About().Turn)
		}
	}
	if other.About().Turn == lives[0].About().Turn {
		t.Error("in another session it is the same turn")
	}
	read(t, other)
	if next := h.start(h.page("s1", "m-2", "hi", "This is answer 1.", "more")); read(t, next) == "" || next.About().Turn == lives[0].About().Turn {
		t.Error("another send is the same turn")
	}
	h.Close(t.Context()) // nothing is remembered of it
	h.Runner = h.restarted()
	late := h.start(h.page("s1", "m-1", "hi"))
	of, err := late.Outcome()
	if late.About().Turn != lives[0].About().Turn || of.State != mooring.Completed || err != nil || read(t, late) != "" || !late.Short() {
		t.Errorf("after a restart it is %+v, %v", of, err)
	}
	if n := len(u.Posts()); n != 3 {
		t.Errorf("%d requests went up, want 3", n)
	}
}

// Deletion is final: what was sent in a session that is gone is not what is sent in the one that has its name now.
func TestSendAfterItsSessionWasDeleted(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	rules := moving()
	rules.Commands = true
	h := newHouse(t, rules, spec("a", u)).closing()
	for _, text := range []string{"hi", "/new"} {
		first := h.start(h.page("s1", "m-1", text))
		read(t, first)
		gone := first.About().Session
		if err := h.Record.Commit(t.Context(), &mooring.Delete{Tenant: "acme", Session: gone}); err != nil {
			t.Fatal(err)
		}
		h.Memory.Forget("acme", gone, nil)
		again := h.start(h.page("s1", "m-1", text))
		if read(t, again); again.About().Session == gone {
			t.Errorf("%s: the send is told as the one of a session that was deleted", text)
		}
		if same := h.start(h.page("s1", "m-1", text)); same.About() != again.About() {
			t.Errorf("%s: sent once more it is %+v, want %+v", text, same.About(), again.About())
		}
		if err := h.Record.Commit(t.Context(), &mooring.Delete{Tenant: "acme", Session: again.About().Session}); err != nil {
			t.Fatal(err)
		}
		h.Memory.Forget("acme", again.About().Session, nil)
	}
	if n := len(u.Posts()); n != 2 {
		t.Errorf("%d requests went up, want 2", n)
	}
}

// restarted is a Runner that knows of no turns.
func (h *house) restarted() *turn.Runner {
	r := h.Runner
	return &turn.Runner{
		Identify: r.Identify, Memory: r.Memory, Fleet: r.Fleet, Route: r.Route, Forward: r.Forward, Record: r.Record, Turn: r.Turn, Failed: r.Failed,
		Owners: r.Owners, Sent: r.Sent, Below: r.Below, Rules: r.Rules, Price: r.Price, Observe: r.Observe, Replica: r.Replica, Now: r.Now,
		NewTurn: r.NewTurn, NewID: r.NewID, NewKey: r.NewKey, Log: r.Log,
	}
}

// An edit is another branch below the message that it answers, a retry another answer to the same question.
func TestAnswerFromAnotherMessage(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u)).closing()
	under := func(parent mooring.MessageID, texts ...string) mooring.Turn {
		t.Helper()
		req := h.page("s1", "", texts...)
		req.Under = &parent
		l := h.start(req)
		read(t, l)
		return h.stored(l.About().Turn)
	}
	first := under("", "hi")
	second := under(first.Answer, "hi", "This is answer 1.", "more")
	edited := under(first.Answer, "hi", "This is answer 1.", "something else")
	retried := under(first.Answer, "hi", "This is answer 1.", "more")
	anew := under("", "hello")
	if edited.Question == second.Question || retried.Question != second.Question || retried.Answer == second.Answer || retried.ID == second.ID {
		t.Errorf("first %+v, edited %+v, retried %+v", second, edited, retried)
	}
	for _, row := range []struct {
		rule   string
		parent mooring.MessageID
		want   int
	}{{"an edit is a second question", first.Answer, 2}, {"a retry a second answer", second.Question, 2}, {"at the root too", "", 2}, {"an edit has one answer", edited.Question, 1}} {
		list, err := h.store.Children(t.Context(), "acme", first.Session, row.parent)
		if err != nil || len(list) != row.want || list[0].Branches != row.want {
			t.Errorf("%s: %d messages, %v; want %d", row.rule, len(list), err, row.want)
		}
	}
	if s, err := h.store.Session(t.Context(), "acme", first.Session); err != nil || s.Tip != anew.Answer || s.Turns != 5 {
		t.Errorf("the session's tip is %s, want that of the last turn, %s: %v", s.Tip, anew.Answer, err)
	}
	for _, unknown := range []mooring.MessageID{"msg_x", first.Answer} {
		req := h.page("s2", "", "hi")
		req.Under = &unknown
		if _, err := h.Start(t.Context(), req, never); mooring.CodeOf(err) != mooring.CodeNotFound {
			t.Errorf("below %s of another session: %v, want not_found", unknown, err)
		}
	}
}

// H-19, H-23: /new from a page makes no turn, and ends the one that runs.
func TestPageBeginsAnew(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	rules := moving()
	rules.Commands, rules.Concurrency = true, turn.Queue
	h := newHouse(t, rules, spec("a", u)).closing()
	u.Queue(upstreamtest.Reply{Text: "one two three four", At: 3, HoldAt: make(chan struct{})})
	old := h.start(h.page("s1", "m-1", "hi"))
	until(t, old, "one")
	l := h.start(h.page("s1", "m-2", "/new"))
	if text := read(t, l); !strings.Contains(text, "s1") || !strings.HasSuffix(text, "[DONE]\n\n") {
		t.Errorf("acknowledged with %q", text)
	}
	if a := l.About(); a.Turn != "" || a.Session == "" || a.Session == old.About().Session {
		t.Errorf("it is told as %+v", a)
	}
	<-old.Done()
	if of, err := old.Outcome(); of.State != mooring.Cancelled || mooring.CodeOf(err) != mooring.CodeTurnCancelled {
		t.Errorf("the turn before: %+v, %v", of, err)
	}
	if again := h.start(h.page("s1", "m-2", "/new")); again.About().Session != l.About().Session {
		t.Error("the command sent again begins one more chat")
	}
	next := h.start(h.page("s1", "m-3", "/new and on"))
	if read(t, next); next.About().Turn == "" || next.About().Session == l.About().Session {
		t.Errorf("with text it is %+v", next.About())
	}
	if again := h.start(h.page("s1", "m-3", "/new and on")); again.About().Turn != next.About().Turn {
		t.Error("with text it is another turn when it is sent again")
	}
}

// H-15: who waits for the session can be cancelled, and whoever asked for it may go meanwhile.
func TestTurnThatWaits(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	rules := moving()
	rules.Concurrency = turn.Queue
	h := newHouse(t, rules, spec("a", u)).closing()
	hold := make(chan struct{})
	u.Always(upstreamtest.Reply{Hold: hold})
	first := h.start(h.page("s1", "m-1", "hi"))
	ids, next := make(chan mooring.TurnID, 2), h.NewTurn
	h.NewTurn = func() mooring.TurnID {
		id := next()
		ids <- id
		return id
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.Start(t.Context(), h.page("s1", "m-2", "more"), never)
		done <- err
	}()
	id := <-ids
	for !h.Cancel("acme", id) {
		time.Sleep(time.Millisecond) // it is on its way into the table
	}
	if err := <-done; mooring.CodeOf(err) != mooring.CodeTurnCancelled {
		t.Errorf("cancelled while it waits: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Start(ctx, h.page("s1", "m-3", "more"), never); err == nil {
		t.Error("who has gone is given a turn")
	}
	close(hold)
	read(t, first)
	if l := h.start(h.page("s1", "m-3", "more")); read(t, l) == "" {
		t.Error("it did not go on without whoever asked for it")
	}
	if n := len(u.Posts()); n != 2 {
		t.Errorf("%d requests went up, want 2", n)
	}
}

// At shutdown the server's turns are waited for, then ended; none begins any more.
func TestClose(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u)).closing()
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{Hold: hold}, upstreamtest.Reply{Text: "one two three four", At: 3, HoldAt: make(chan struct{})})
	whole := h.start(h.page("s1", "", "hi"))
	if _, err := u.WaitPosts(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stuck := h.start(h.page("s2", "", "hi"))
	until(t, stuck, "one")
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.Close(ctx)
	}()
	close(hold)
	read(t, whole)
	if of, err := whole.Outcome(); of.State != mooring.Completed || err != nil {
		t.Errorf("what could end: %+v, %v", of, err)
	}
	cancel()
	<-closed
	if of := h.stored(stuck.About().Turn); of.State != mooring.Cancelled || !strings.Contains(h.answer(of), "one") {
		t.Errorf("what could not: %+v", of)
	}
	if _, err := h.Start(t.Context(), h.page("s3", "", "hi"), never); mooring.CodeOf(err) != mooring.CodeShuttingDown {
		t.Errorf("one more: %v, want shutting_down", err)
	}
}

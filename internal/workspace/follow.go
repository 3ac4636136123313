package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/wire"
)

const (
	// heartbeat is how often a listener hears that the turn is alive.
	heartbeat = 10 * time.Second
	// opening fills what browsers and proxies hold back of a stream's start.
	opening = 2048
)

// events writes the events of one turn to one listener. Each has a number that follows from the turn alone, heartbeats have none:
// whoever comes back says which one was the last, and gets those behind it.
type events struct {
	*API
	w      http.ResponseWriter
	r      *http.Request
	flush  *http.ResponseController
	who    route
	run    mooring.TurnID
	skip   int // events that the listener has already
	number int // of the last event
	beat   time.Time
	opened bool
	gone   bool
}

func (a *API) newEvents(w http.ResponseWriter, r *http.Request, who route) *events {
	return &events{API: a, w: w, r: r, flush: http.NewResponseController(w), who: who, beat: a.now().Add(heartbeat)}
}

// open sends the header.
func (s *events) open() {
	if s.opened {
		return
	}
	s.opened = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	s.routeHeaders(s.w, s.who)
	s.w.WriteHeader(http.StatusOK)
	s.write(":" + strings.Repeat(" ", opening) + "\n\n")
}

func (s *events) write(text string) {
	if s.gone {
		return
	}
	_, err := s.w.Write([]byte(text))
	if err == nil {
		err = s.flush.Flush()
	}
	s.gone = err != nil
}

// send writes an event, unless the listener has it.
func (s *events) send(name string, data any) {
	s.open()
	if s.number++; s.number > s.skip {
		s.write("id: " + strconv.Itoa(s.number) + "\nevent: " + name + "\ndata: " + encoded(data) + "\n\n")
	}
}

// encoded is JSON on one line.
func encoded(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// alive says that the turn is, where it is time to.
func (s *events) alive() {
	now := s.now()
	if now.Before(s.beat) {
		return
	}
	s.beat = now.Add(heartbeat)
	s.open()
	s.write("event: heartbeat\ndata: " + encoded(heartbeatView{Timestamp: now.UnixMilli()}) + "\n\n")
}

// queued waits for a turn that waits itself.
func (s *events) queued(come <-chan begun) begun {
	for {
		late := time.NewTimer(max(0, s.beat.Sub(s.now())))
		select {
		case b := <-come:
			late.Stop()
			return b
		case <-late.C:
			s.alive()
		}
	}
}

// follow tells a turn to its end.
func (s *events) follow(live *turn.Live) {
	defer live.Join()()
	s.started(live.About())
	tell := &telling{events: s}
	for at := 0; !s.gone; {
		ctx, cancel := context.WithTimeout(s.r.Context(), max(time.Millisecond, s.beat.Sub(s.now())))
		fresh, ended, err := live.Read(ctx, at)
		cancel()
		switch {
		case s.r.Context().Err() != nil:
			return
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			s.failed(err)
			return
		}
		tell.more(live, fresh, ended)
		if at += len(fresh); ended {
			s.end(live, tell)
			return
		}
		s.alive()
	}
}

func (s *events) started(about turn.About) {
	s.run = about.Turn
	s.send("started", startedView{RunID: s.run, route: s.who, FriendlyID: s.who.SessionKey, SessionID: known(about.Session)})
}

// telling makes events of an answer's bytes.
type telling struct {
	*events
	teller *wire.Teller
	body   []byte // of an answer that is one JSON body, as far as it has come
}

func (t *telling) more(live *turn.Live, fresh []byte, ended bool) {
	if t.teller == nil {
		p := live.Protocol()
		if live.About().Turn == "" { // the answer to a command is the product's own
			p = mooring.Chat
		}
		t.teller = wire.NewTeller(p)
	}
	switch {
	case live.Head().Length < 0:
		t.tell(t.teller.Feed(fresh))
		return
	case !ended:
		t.body = append(t.body, fresh...)
		return
	case len(t.body) > 0:
		fresh = append(t.body, fresh...)
	}
	t.tell(t.teller.Whole(fresh))
}

func (t *telling) tell(list []wire.Told) {
	for _, told := range list {
		switch told.Kind {
		case wire.ToldText:
			t.send("chunk", chunkView{Text: told.Text, route: t.who, RunID: t.run})
		case wire.ToldThinking:
			t.send("thinking", chunkView{Text: told.Text, route: t.who, RunID: t.run})
		case wire.ToldTool:
			t.send("tool", viewTool(told.Tool, t.who, t.run))
		}
	}
}

// end tells how the turn ended. Where its bytes are not all here any more, the text is what was written down.
func (s *events) end(live *turn.Live, tell *telling) {
	t, err := live.Outcome()
	if live.Short() {
		s.number = max(s.number, s.skip) // what the listener has may be more than there is here
		s.whole(&t)
	}
	if t.State == "" && err == nil { // a command was answered
		s.done(mooring.Completed, "", live.About().Session)
		return
	}
	if err != nil && tell.teller != nil {
		if said := tell.teller.Failure(); said != nil && said.Message != "" && mooring.CodeOf(err) == mooring.CodeUpstreamError && !says(err, said.Message) {
			err = mooring.Errorf(mooring.CodeUpstreamError, "The model's server says: %s", said.Message)
		}
	}
	s.over(&t, err)
}

// says tells whether words are those of an error, its advice aside: where an upstream broke off, what the client read last are
// Mooring's own.
func says(err error, words string) bool {
	e, ok := errors.AsType[*mooring.Error](err)
	if !ok {
		return false
	}
	reason, _, _ := strings.Cut(e.Safe, ";")
	reason = strings.TrimSuffix(reason, ".")
	return reason != "" && strings.HasPrefix(words, reason)
}

// over tells the end of a turn that is known.
func (s *events) over(t *mooring.Turn, err error) {
	switch {
	case t.State == mooring.Completed && err == nil:
		s.done(t.State, t.Answer, t.Session)
	case err == nil:
		err = endOf(t)
		fallthrough
	default:
		s.failed(err)
		if t.State == mooring.Cancelled {
			s.done(t.State, t.Answer, t.Session)
		}
	}
}

// endOf is the error of a turn whose listener was told none, or another one.
func endOf(t *mooring.Turn) error {
	code, reason := t.ErrorCode, "The turn did not complete"
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1].Reason != "" {
		reason = t.Attempts[n-1].Reason
	}
	switch {
	case t.State == mooring.Interrupted:
		code, reason = mooring.CodeUpstreamError, "The server ended while this turn ran"
	case t.State == mooring.Cancelled:
		code = mooring.CodeTurnCancelled
	case code == "":
		code = mooring.CodeUpstreamError
	}
	return mooring.Errorf(code, "%s; send the message again.", reason)
}

// failed tells an error. What is the server's own trouble is logged, not told.
func (s *events) failed(err error) {
	e, ok := errors.AsType[*mooring.Error](err)
	if !ok || e.Safe == "" {
		s.log.LogAttrs(s.r.Context(), slog.LevelError, "turn failed", slog.Any("err", err))
		e = mooring.Errorf(mooring.CodeOf(err), "Internal error.")
	}
	s.send("error", errorView{Message: e.Safe, Code: e.Code, route: s.who, RunID: s.run})
}

func (s *events) done(state mooring.TurnState, answer mooring.MessageID, in mooring.SessionID) {
	v := doneView{State: string(state), route: s.who, RunID: s.run, SessionID: known(in), MessageID: answer}
	if state == mooring.Completed {
		v.State = "complete"
	}
	s.send("done", v)
}

// whole tells the text of an answer as it was written down, in the place of all that was told of it.
func (s *events) whole(t *mooring.Turn) {
	if t.Answer == "" {
		return
	}
	list, _, err := s.store.Branch(s.r.Context(), t.Tenant, t.Session, mooring.BranchPage{Tip: t.Answer, Limit: 1})
	if err != nil || len(list) == 0 {
		return // it ends without its text; the page reads that from the session
	}
	if _, text := wire.Render(list[0].Protocol, list[0].Content); text != "" {
		s.send("chunk", chunkView{Text: text, FullReplace: true, route: s.who, RunID: s.run})
	}
}

type startedView struct {
	RunID mooring.TurnID `json:"runId,omitempty"`
	route
	FriendlyID string             `json:"friendlyId"`
	SessionID  *mooring.SessionID `json:"sessionId"`
}

type chunkView struct {
	Text        string `json:"text"`
	FullReplace bool   `json:"fullReplace,omitempty"`
	route
	RunID mooring.TurnID `json:"runId,omitempty"`
}

type toolView struct {
	Phase      wire.Phase `json:"phase"`
	Name       string     `json:"name"`
	ToolCallID string     `json:"toolCallId"`
	Args       any        `json:"args,omitempty"` // JSON where the model wrote some, else text
	Preview    string     `json:"preview,omitempty"`
	route
	RunID mooring.TurnID `json:"runId,omitempty"`
}

func viewTool(t wire.ToolTold, who route, run mooring.TurnID) toolView {
	v := toolView{Phase: t.Phase, Name: t.Name, ToolCallID: t.CallID, Preview: t.Preview, route: who, RunID: run}
	switch {
	case t.Args == "":
	case json.Valid([]byte(t.Args)):
		v.Args = json.RawMessage(t.Args)
	default:
		v.Args = t.Args
	}
	return v
}

type heartbeatView struct {
	Timestamp int64 `json:"timestamp"`
}

type errorView struct {
	Message string       `json:"message"`
	Code    mooring.Code `json:"code"`
	route
	RunID mooring.TurnID `json:"runId,omitempty"`
}

type doneView struct {
	State string `json:"state"`
	route
	RunID     mooring.TurnID     `json:"runId,omitempty"`
	SessionID *mooring.SessionID `json:"sessionId"`
	MessageID mooring.MessageID  `json:"messageId,omitempty"`
}

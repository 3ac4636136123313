package workspace

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/wire"
)

// Runner runs turns that belong to the server; turn.Runner is one.
type Runner interface {
	Start(ctx context.Context, req turn.Request, detach func() time.Duration) (*turn.Live, error)
	Follow(t mooring.Tenant, id mooring.TurnID) (*turn.Live, bool)
	Watch(ctx context.Context, t mooring.Turn) *turn.Live
	Stop(ctx context.Context, t mooring.Tenant, id mooring.TurnID) error
}

// Talking is what the turns need that begin on a page.
type Talking struct {
	Runner   Runner
	Body     func(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) // reads a JSON body up to the server's limit
	Admit    func(ctx context.Context, c mooring.Caller, model string) (release func(), err error) // holds the turn against the limits of its key
	Decode   func(t mooring.Tenant, p mooring.Protocol, body []byte) (*wire.Request, error)        // reads a request's body
	Serves   func(model string, on mooring.UpstreamName) (Serving, bool)                           // says how a model is asked, by preference where its session was last; false where no upstream has it
	Model    func(ctx context.Context, c mooring.Caller) (string, error)                           // gives a model that an upstream has
	Detach   func() time.Duration                                                                  // how long a turn goes on without a listener
	Commands func() bool                                                                           // whether chats may begin anew with /new
	MaxBytes func() int                                                                            // of a conversation that is sent whole
}

// Serving says how the upstreams of a model are asked.
type Serving struct {
	Protocol mooring.Protocol // Chat or Messages
	Remote   bool             // they keep the conversation
}

// sendStream begins a turn, or goes on with the one that the same send has begun, and answers with its events.
func (a *API) sendStream(w http.ResponseWriter, r *http.Request) {
	ask, err := a.asked(w, r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answerLive(w, r, ask)
}

// queuedAfter is how long a turn may take to begin before its listener is told that it waits.
const queuedAfter = time.Second

// begun is a turn that was started, or why it was not.
type begun struct {
	live *turn.Live
	err  error
}

// answerLive starts a turn and answers with its events. One that waits for its session's other turns has its header at once: pages
// and what stands before them take silence for death.
func (a *API) answerLive(w http.ResponseWriter, r *http.Request, ask *outgoing) {
	come := make(chan begun, 1)
	go func() { //nolint:contextcheck // it is the request's
		live, err := a.talk.Runner.Start(r.Context(), ask.request, a.talk.Detach)
		come <- begun{live, err}
	}()
	s := a.newEvents(w, r, ask.who)
	wait := time.NewTimer(queuedAfter)
	defer wait.Stop()
	var b begun
	select {
	case b = <-come:
	case <-wait.C:
		s.open()
		b = s.queued(come)
	}
	switch {
	case b.err != nil && r.Context().Err() != nil: // it has gone; what waits goes on
	case b.err != nil && !s.opened:
		a.fail(w, r, b.err)
	case b.err != nil:
		s.failed(b.err) //nolint:contextcheck // the events have their request
	default:
		s.follow(b.live) //nolint:contextcheck // the events have their request
	}
}

// sendSession begins a turn and does not wait for its answer.
func (a *API) sendSession(w http.ResponseWriter, r *http.Request) {
	ask, err := a.asked(w, r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), queuedAfter)
	defer cancel()
	live, err := a.talk.Runner.Start(ctx, ask.request, a.talk.Detach)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.fail(w, r, err)
		return
	}
	v := sentView{OK: true, SessionKey: ask.who.SessionKey, FriendlyID: ask.who.SessionKey, Queued: true}
	if live != nil {
		about := live.About()
		v.RunID, v.SessionID = about.Turn, known(about.Session)
	}
	a.routeHeaders(w, ask.who)
	a.send(w, r, reply{status: http.StatusOK, body: v})
}

type sentView struct {
	OK         bool               `json:"ok"`
	SessionKey string             `json:"sessionKey"`
	FriendlyID string             `json:"friendlyId"`
	SessionID  *mooring.SessionID `json:"sessionId"`
	RunID      mooring.TurnID     `json:"runId,omitempty"`
	Queued     bool               `json:"queued"`
}

// asked reads a send and makes the turn's request of it.
func (a *API) asked(w http.ResponseWriter, r *http.Request) (*outgoing, error) {
	caller, err := a.person(r)
	if err != nil {
		return nil, err
	}
	said, err := a.readSending(w, r)
	if err != nil {
		return nil, err
	}
	return a.compose(r.Context(), caller, said)
}

// readSending reads the body of a send.
func (a *API) readSending(w http.ResponseWriter, r *http.Request) (*sending, error) {
	body, release, err := a.talk.Body(w, r)
	if err != nil {
		return nil, err
	}
	defer release()
	return readSend(body)
}

// person is a caller whose session a turn can be.
func (a *API) person(r *http.Request) (mooring.Caller, error) {
	tenant, err := a.owner(r)
	if err != nil {
		return mooring.Caller{}, err
	}
	if tenant == "" {
		return mooring.Caller{}, mooring.Errorf(mooring.CodeInvalidRequest, "This key belongs to no tenant, which could have the session; use a tenant's key.")
	}
	return a.caller(r)
}

// routeHeaders names the workspace's route to a chat: never an id of an upstream.
func (a *API) routeHeaders(w http.ResponseWriter, who route) {
	w.Header().Set("X-Hermes-Session-Key", who.SessionKey)
	w.Header().Set("X-Hermes-Friendly-Id", who.SessionKey)
}

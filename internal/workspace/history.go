package workspace

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mooring"
	"mooring/internal/wire"
)

const (
	// defaultHistory is what Hermes Workspace asks for, mostHistory what it keeps of a chat itself.
	defaultHistory = 200
	mostHistory    = 500
)

type historyView struct {
	SessionKey string             `json:"sessionKey"`
	SessionID  *mooring.SessionID `json:"sessionId"`
	Messages   []saidView         `json:"messages"`
}

// saidView is a message in the shape that Hermes' pages read: texts alone, no image's bytes.
type saidView struct {
	ID        mooring.MessageID `json:"id"`
	Role      string            `json:"role"`
	Content   []textView        `json:"content"`
	Text      string            `json:"text"`
	State     mooring.TurnState `json:"state"`
	Timestamp int64             `json:"timestamp"` // milliseconds since 1970
	CreatedAt instant           `json:"createdAt"`
}

type textView struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func viewSaid(m mooring.Message) saidView {
	_, text := wire.Render(m.Protocol, m.Content)
	return saidView{
		ID: m.ID, Role: m.Role, Content: []textView{{"text", text}}, Text: text, State: m.State, Timestamp: m.CreatedAt.UnixMilli(), CreatedAt: instant(m.CreatedAt),
	}
}

// history gives the last messages of a chat. One that nobody has begun has none.
func (a *API) history(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	limit, err := countOf(q.Get("limit"), defaultHistory, mostHistory)
	if err != nil {
		return nil, err
	}
	key := (&sending{key: strings.TrimSpace(q.Get("sessionKey")), friendly: strings.TrimSpace(q.Get("friendlyId"))}).asks()
	view := historyView{SessionKey: key, Messages: []saidView{}}
	if key == freshKey {
		return view, nil
	}
	s, _, err := a.chat(r.Context(), tenant, key)
	switch {
	case mooring.CodeOf(err) == mooring.CodeSessionNotFound, err == nil && s == nil:
		return view, nil
	case err != nil:
		return nil, err
	}
	view.SessionID = known(s.ID)
	list, err := a.lastMessages(r.Context(), *s, limit)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		view.Messages = append(view.Messages, viewSaid(m))
	}
	return view, nil
}

// countOf reads a number of things; more than most is taken as most.
func countOf(said string, standard, most int) (int, error) {
	if said == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 {
		return 0, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter limit must be a number above 0; %d are given at most.", most)
	}
	return min(n, most), nil
}

// lastMessages reads the end of a session's current branch, oldest message first. Pages end early where contents are large.
func (a *API) lastMessages(ctx context.Context, s mooring.Session, limit int) ([]mooring.Message, error) {
	var out []mooring.Message // the newest first
	page := mooring.BranchPage{Bytes: pageBytes}
	for more := true; more && len(out) < limit; {
		page.Limit = min(maxLimit, limit-len(out))
		part, above, err := a.store.Branch(ctx, s.Tenant, s.ID, page)
		if err != nil {
			return nil, err
		}
		for _, m := range slices.Backward(part) {
			out = append(out, m)
		}
		if more = above && len(part) > 0; more {
			page.Before = part[0].ID
		}
	}
	slices.Reverse(out)
	return out, nil
}

type snapshotView struct {
	Session sessionSnapshot `json:"session"`
}

// sessionSnapshot is a session as Hermes WebUI reads it, with what the session API says of it.
type sessionSnapshot struct {
	SessionID mooring.SessionID `json:"session_id"`
	sessionView
	Model        *string    `json:"model"`
	MessageCount int        `json:"message_count"`
	Messages     []lineView `json:"messages"`
}

type lineView struct {
	ID        mooring.MessageID `json:"id"`
	Role      string            `json:"role"`
	Content   string            `json:"content"`
	Timestamp float64           `json:"timestamp"` // seconds since 1970
}

// snapshot gives a session with the end of its current branch. There are no profiles here but tenants, of which a caller has one.
func (a *API) snapshot(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	id := q.Get("session_id")
	if id == "" {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter session_id is missing; GET /api/sessions lists the sessions there are.")
	}
	s, _, err := a.chat(r.Context(), tenant, id)
	switch {
	case mooring.CodeOf(err) == mooring.CodeInvalidSessionID || err == nil && s == nil:
		return nil, noSuchSession()
	case err != nil:
		return nil, err
	}
	if asked := q.Get("profile"); asked != "" && asked != string(tenant) {
		return nil, mooring.Errorf(mooring.CodeSessionProfileMismatch, "The session does not belong to that profile; leave profile out.")
	}
	view, err := a.view(r.Context(), *s)
	if err != nil {
		return nil, err
	}
	out := sessionSnapshot{SessionID: s.ID, sessionView: view, Messages: []lineView{}}
	if n := len(s.Models); n > 0 {
		out.Model = &s.Models[n-1]
	}
	if q.Get("messages") == "0" {
		return snapshotView{out}, nil
	}
	limit, err := countOf(q.Get("msg_limit"), defaultHistory, mostHistory)
	if err != nil {
		limit = defaultHistory // other servers of these pages take anything here
	}
	list, err := a.lastMessages(r.Context(), *s, limit)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		_, text := wire.Render(m.Protocol, m.Content)
		out.Messages = append(out.Messages, lineView{m.ID, m.Role, text, float64(m.CreatedAt.UnixMilli()) / float64(time.Second/time.Millisecond)})
	}
	out.MessageCount = len(out.Messages)
	return snapshotView{out}, nil
}

func noSuchSession() error {
	return mooring.Errorf(mooring.CodeSessionNotFound, "There is no such session; GET /api/sessions lists those there are.")
}

// chatStream begins a turn in a session that is there, as Hermes' own server does, and tells it in the events of a send. Hermes
// Workspace asks for a session that nobody can have, to see whether there is such a route: that answer needs no key.
func (a *API) chatStream(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") == "__probe__" {
		a.fail(w, r, noSuchSession())
		return
	}
	caller, err := a.person(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	s, err := a.find(r, caller.Tenant)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	said, err := a.readSending(w, r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	said.key = string(s.ID)
	ask, err := a.compose(r.Context(), caller, said)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	ask.who.SessionKey = s.Key
	a.answerLive(w, r, ask)
}

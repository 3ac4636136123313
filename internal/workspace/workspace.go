// Package workspace serves what people and their pages read: the session API (sessions, messages and turns of the caller's
// own tenant, as JSON), the chats of pages, and the pages of the front end.
//
// What it changes it hands to the turn log, one change a request; a message that a page sends it makes a turn's request of, and
// hands it to turn. It tells turns to listeners in events, and never looks outside the caller's tenant. Its goroutines are those of
// a send that waits for its turn to begin; they end with the request.
package workspace

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// Mux is where handlers are mounted; http.ServeMux is one. Patterns must be matched on the escaped path, segment by
// segment, since a session's key may hold a slash.
type Mux interface {
	Handle(pattern string, h http.Handler)
}

// Store is what the session API reads. Every call is held to one tenant.
type Store interface {
	Sessions
	Talks
	Names
	Sums
}

// Sums reads what was used. Of all that is read here these alone may go over all tenants, since they are numbers.
type Sums interface {
	Use(ctx context.Context, q mooring.UseQuery) ([]mooring.UseRow, error)
	UseTimes(ctx context.Context, q mooring.UseQuery) ([]mooring.UseTimes, error)
}

// Sessions reads sessions and sums over them.
type Sessions interface {
	Session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error)
	SessionsByKey(ctx context.Context, t mooring.Tenant, key string) ([]mooring.Session, error)
	Sessions(ctx context.Context, t mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error)
	Descendants(ctx context.Context, t mooring.Tenant, top mooring.SessionID, limit int) ([]mooring.Session, bool, error)
	TreeUse(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]mooring.Spending, error)
	Figures(ctx context.Context, t mooring.Tenant, since time.Time) (mooring.Figures, error)
}

// Talks reads what was said in them.
type Talks interface {
	Branch(ctx context.Context, t mooring.Tenant, id mooring.SessionID, p mooring.BranchPage) ([]mooring.Message, bool, error)
	Trail(ctx context.Context, t mooring.Tenant, id mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error)
	Turns(ctx context.Context, t mooring.Tenant, id mooring.SessionID, p mooring.TurnPage) ([]mooring.Turn, bool, error)
	Turn(ctx context.Context, t mooring.Tenant, id mooring.TurnID) (mooring.Turn, error)
	Siblings(ctx context.Context, t mooring.Tenant, id mooring.SessionID, parents []mooring.MessageID) (map[mooring.MessageID][]mooring.MessageID, error)
	Newest(ctx context.Context, t mooring.Tenant, id mooring.SessionID, from mooring.MessageID) (mooring.MessageID, error)
}

// Names finds sessions by what pages and requests call them.
type Names interface {
	AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error)
	SessionsByFriendlyID(ctx context.Context, t mooring.Tenant, id string) ([]mooring.Session, error)
	SessionsOf(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error)
}

// Options is what the session API needs. All fields must be set.
type Options struct {
	Store         Store
	Write         Writing
	Talk          Talking
	Caller        func(*http.Request) (mooring.Caller, error) // finds who asks; its error is shown to the client
	CursorKey     []byte                                      // signs the cursors of lists; the same on every replica
	Search        Search                                      // finds messages and sessions by their words
	Prices        func() PriceList                            // the list that prices come from where the configuration has none
	Limits        func(key mooring.KeyName) *KeyLimits        // of a key; nil where the configuration has none of that name
	OperatorReads func() bool                                 // whether an operator may read a tenant's texts with ?tenant=; a reload may change it
	Now           func() time.Time
	Log           *slog.Logger
}

// Writing is what changes go through.
type Writing struct {
	Commit     func(ctx context.Context, c mooring.Change) error                // ends with the change, not with the request
	Body       func(w http.ResponseWriter, r *http.Request) ([]byte, error)     // reads a small JSON body
	Name       func(key string) (kept string, names []mooring.Alias, err error) // checks a key and says what it is found by
	Forget     func(t mooring.Tenant, id mooring.SessionID)                     // drops what memory has of a session
	NewSession func() mooring.SessionID
	NewMessage func() mooring.MessageID
	NewKey     func() string // a fresh key for a session that was given none
}

// Search finds the newest messages and sessions of a tenant that hold the words of a query; search.Index.Search is one.
type Search func(ctx context.Context, t mooring.Tenant, q mooring.SearchQuery) (mooring.SearchPage, error)

// API is the session API.
type API struct {
	store   Store
	write   Writing
	talk    Talking
	look    Search
	prices  func() PriceList
	limits  func(mooring.KeyName) *KeyLimits
	caller  func(*http.Request) (mooring.Caller, error)
	cursors cursors
	reads   func() bool
	now     func() time.Time
	log     *slog.Logger
}

// New builds the session API.
func New(o Options) *API {
	if len(o.CursorKey) == 0 {
		panic("workspace.New: Options.CursorKey is empty")
	}
	return &API{
		store: o.Store, write: o.Write, talk: o.Talk, look: o.Search, prices: o.Prices, limits: o.Limits, caller: o.Caller, cursors: cursors{key: o.CursorKey}, reads: o.OperatorReads,
		now: o.Now, log: o.Log,
	}
}

// Mount adds the routes.
func (a *API) Mount(mux Mux) {
	mux.Handle("GET /api/sessions", a.answer(a.listSessions))
	mux.Handle("POST /api/sessions", a.change(a.createSession))
	mux.Handle("GET /api/sessions/{id}", a.answer(a.showSession))
	mux.Handle("PATCH /api/sessions/{id}", a.change(a.patchSession))
	mux.Handle("DELETE /api/sessions/{id}", a.change(a.deleteSession))
	mux.Handle("GET /api/sessions/{id}/messages", a.answer(a.listMessages))
	mux.Handle("GET /api/sessions/{id}/turns", a.answer(a.listTurns))
	mux.Handle("GET /api/sessions/{id}/tree", a.answer(a.showTree))
	mux.Handle("GET /api/sessions/{id}/export", http.HandlerFunc(a.export))
	mux.Handle("POST /api/sessions/{id}/fork", a.change(a.forkSession))
	mux.Handle("GET /api/turns/{id}", a.answer(a.showTurn))
	mux.Handle("GET /api/turns/{id}/stream", http.HandlerFunc(a.followTurn))
	mux.Handle("POST /api/turns/{id}/cancel", a.change(a.cancelTurn))
	a.mountHermes(mux)
	mux.Handle("GET /api/stats", a.answer(a.showStats))
	mux.Handle("GET /api/search", a.answer(a.search))
	mux.Handle("GET /api/usage", http.HandlerFunc(a.showUsage))
	mux.Handle("GET /api/series", a.report(a.showSeries))
}

// mountHermes adds the routes that the pages of Hermes call.
func (a *API) mountHermes(mux Mux) {
	mux.Handle("POST /api/send-stream", http.HandlerFunc(a.sendStream))
	mux.Handle("POST /api/session-send", http.HandlerFunc(a.sendSession))
	mux.Handle("POST /api/sessions/{id}/chat/stream", http.HandlerFunc(a.chatStream))
	mux.Handle("GET /api/history", a.answer(a.history))
	mux.Handle("GET /api/session", a.answer(a.snapshot))
	mux.Handle("GET /api/sessions/search", a.answer(a.searchSessions))
}

// answer makes a handler of a read: it finds whose sessions are meant, and writes the read's value or its error.
func (a *API) answer(read func(*http.Request, mooring.Tenant) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := a.read(r, read)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		a.send(w, r, reply{status: http.StatusOK, body: v})
	})
}

// report is an answer for which the read finds out itself who asks.
func (a *API) report(read func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := read(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		a.send(w, r, reply{status: http.StatusOK, body: v})
	})
}

func (a *API) read(r *http.Request, read func(*http.Request, mooring.Tenant) (any, error)) (any, error) {
	tenant, err := a.tenant(r)
	if err != nil {
		return nil, err
	}
	return read(r, tenant)
}

// tenant says whose sessions a request may read: the caller's, or those named by ?tenant= where an operator may read them.
func (a *API) tenant(r *http.Request) (mooring.Tenant, error) {
	caller, err := a.caller(r)
	if err != nil {
		return "", err
	}
	asked := mooring.Tenant(r.URL.Query().Get("tenant"))
	switch {
	case asked == "" || asked == caller.Tenant:
		return caller.Tenant, nil
	case caller.Operator() && a.reads():
		return asked, nil
	case caller.Operator():
		return "", mooring.Errorf(mooring.CodeNotFound, "An operator's key does not open tenants' texts here; sessions.operator_reads in the configuration would allow it.")
	}
	return "", mooring.Errorf(mooring.CodeOperatorRequired, "Only an operator may name a tenant; leave ?tenant= out to read your own sessions.")
}

// fail answers with an error and logs what is the server's own trouble.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, mooring.API, err)
	kind := mooring.KindOf(err)
	gone := r.Context().Err() != nil || errors.Is(err, context.Canceled)
	if gone || (kind != mooring.KindInternal && kind != mooring.KindStore) {
		return
	}
	a.log.LogAttrs(r.Context(), slog.LevelError, "session API failed", slog.String("path", r.Pattern), slog.Any("err", err))
}

package workspace

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
	"mooring/internal/problem"
)

// About is what a page has to know of the server; a reload may change it.
type About struct {
	Keys          bool // clients need a key
	OperatorReads bool
	Commands      []string
	Transcripts   string // "full" or "metadata"
}

// SignInOptions is what signing in needs. All fields must be set.
type SignInOptions struct {
	Caller  func(*http.Request) (mooring.Caller, error)
	SignIn  func(r *http.Request, key string) (mooring.Caller, *http.Cookie, error) // the cookie is nil where nobody needs one
	SignOut func(*http.Request) ([]*http.Cookie, error)                             // cookies that take the sign-in's away
	Body    func(w http.ResponseWriter, r *http.Request) ([]byte, error)            // reads a small JSON body of whoever sends it
	About   func() About
	Version string
	Store   string // kind of store: "SQLite", "PostgreSQL"
	Log     *slog.Logger
}

// SignIns serves what the pages ask first: who is there, and how to sign in and out.
type SignIns struct{ o SignInOptions }

// NewSignIns builds the handler.
func NewSignIns(o SignInOptions) *SignIns { return &SignIns{o: o} }

// Mount adds the routes.
func (s *SignIns) Mount(mux Mux) {
	mux.Handle("GET /api/me", http.HandlerFunc(s.me))
	mux.Handle("POST /api/sign-in", http.HandlerFunc(s.signIn))
	mux.Handle("POST /api/sign-out", http.HandlerFunc(s.signOut))
}

// meView is the caller and the server, as far as the caller may know it.
type meView struct {
	Tenant        *mooring.Tenant  `json:"tenant"` // null for an operator without one
	Key           *mooring.KeyName `json:"key"`
	Role          mooring.Role     `json:"role"`
	Keys          bool             `json:"keys"`
	SignedIn      bool             `json:"signed_in"`
	Version       string           `json:"version"`
	Store         string           `json:"store"`
	OperatorReads bool             `json:"operator_reads"`
	Commands      []string         `json:"commands"`
	Transcripts   string           `json:"transcripts"`
}

func (s *SignIns) me(w http.ResponseWriter, r *http.Request) {
	caller, err := s.o.Caller(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.tell(w, r, caller)
}

func (s *SignIns) signIn(w http.ResponseWriter, r *http.Request) {
	body, err := s.o.Body(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	key, err := keyIn(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	caller, cookie, err := s.o.SignIn(r, key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if cookie != nil {
		http.SetCookie(w, cookie)
	}
	s.tell(w, r, caller)
}

func keyIn(body []byte) (key string, err error) {
	err = eachMember(body, func(name string, value jsontext.Value) error {
		if name != "key" {
			return unknownMember("key")
		}
		key, err = textOf(name, value)
		return err
	})
	if err == nil && key == "" {
		err = mooring.Errorf(mooring.CodeInvalidRequest, "The body has no key; send {\"key\": \"…\"}.")
	}
	return key, err
}

func (s *SignIns) signOut(w http.ResponseWriter, r *http.Request) {
	cookies, err := s.o.SignOut(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for _, c := range cookies {
		http.SetCookie(w, c)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

func (s *SignIns) tell(w http.ResponseWriter, r *http.Request, c mooring.Caller) {
	about := s.o.About()
	view := meView{
		Tenant: known(c.Tenant), Key: known(c.Key), Role: c.Role, Keys: about.Keys, SignedIn: c.SignedIn, Version: s.o.Version, Store: s.o.Store,
		OperatorReads: about.OperatorReads, Commands: about.Commands, Transcripts: about.Transcripts,
	}
	if view.Commands == nil {
		view.Commands = []string{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(view); err != nil && r.Context().Err() == nil {
		s.o.Log.LogAttrs(r.Context(), slog.LevelDebug, "answer not written", slog.Any("err", err))
	}
}

func (s *SignIns) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, mooring.API, err)
	if kind := mooring.KindOf(err); r.Context().Err() == nil && (kind == mooring.KindInternal || kind == mooring.KindStore) {
		s.o.Log.LogAttrs(r.Context(), slog.LevelError, "sign-in failed", slog.String("path", r.Pattern), slog.Any("err", err))
	}
}

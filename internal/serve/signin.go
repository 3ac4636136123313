package serve

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"mooring"
	"mooring/internal/signin"
)

// SignIn gives the browser that sends the request a cookie that stands for the key. Without keys in the rules there is nothing
// to sign in to, and the cookie is nil.
func (s *Server) SignIn(r *http.Request, secret string) (mooring.Caller, *http.Cookie, error) {
	rules := s.rules.Load()
	if len(rules.keys) == 0 {
		return mooring.Caller{Tenant: mooring.LocalTenant, Role: mooring.RoleOperator}, nil, nil
	}
	if rules.foreign(r) {
		return mooring.Caller{}, nil, errCookieForeign() // another site could sign people in as somebody else
	}
	right, err := s.opts.SignIns.Guess(r.RemoteAddr)
	if err != nil {
		return mooring.Caller{}, nil, err
	}
	key, err := rules.keyOf(secret, s.opts.Now())
	if err != nil {
		return mooring.Caller{}, nil, err
	}
	right()
	over := rules.transport(r)
	token, err := s.opts.SignIns.Open(r.Context(), key.Name, key.Hash[:], signin.Token(r, over))
	if err != nil {
		return mooring.Caller{}, nil, err
	}
	caller := key.caller()
	caller.SignedIn = true
	return caller, signin.Cookie(token, over), nil
}

// SignOut ends the browser's sign-in and gives the cookies that take its own away; where there is none it does nothing.
func (s *Server) SignOut(r *http.Request) ([]*http.Cookie, error) {
	rules := s.rules.Load()
	over := rules.transport(r)
	if token := signin.Token(r, over); token != "" {
		if !rules.sameOrigin(r) {
			return nil, errCookieForeign()
		}
		if err := s.opts.SignIns.Close(r.Context(), token); err != nil {
			return nil, err
		}
	}
	return signin.Expired(r), nil
}

// signedIn finds the caller by the pages' cookie, for a request without a key. Who reads from another origin is as good as
// without it; who changes something there is told why it does not count.
func (s *Server) signedIn(rules *ruleset, r *http.Request) (mooring.Caller, error) {
	if s.opts.SignIns == nil || !takesCookie(r.URL.Path) {
		return mooring.Caller{}, errNoKey
	}
	token, same := signin.Token(r, rules.transport(r)), rules.sameOrigin(r)
	if token == "" || (!same && reads(r.Method)) {
		return mooring.Caller{}, errNoKey
	}
	in, found, err := s.find(r.Context(), token)
	if err != nil {
		return mooring.Caller{}, err
	}
	key, there := rules.byName[in.Key]
	switch {
	case !found || !there || !s.opts.SignIns.Of(in, key.Name, key.Hash[:]):
		return mooring.Caller{}, errKey("You are not signed in any more; sign in again, or send a key.")
	case key.expired(s.opts.Now()):
		return mooring.Caller{}, errExpired()
	case !same:
		return mooring.Caller{}, errCookieForeign()
	}
	caller := key.caller()
	caller.SignedIn = true
	if v := visitOf(r.Context()); v != nil {
		v.note(caller)
	}
	return caller, nil
}

// takesCookie names the routes of the pages. Programs' routes never do: whatever a browser can be made to send there, it has
// to bring a key.
func takesCookie(path string) bool {
	return path == "/" || path == "/metrics" || strings.HasPrefix(path, "/api/")
}

// foundFor is how long a request takes its sign-in for granted: a live stream hears soon that its person has signed out.
const foundFor = 5 * time.Second

// find asks for the sign-in once per request, and again where that is a long one.
func (s *Server) find(ctx context.Context, token string) (mooring.SignIn, bool, error) {
	v := visitOf(ctx)
	if v == nil {
		return s.opts.SignIns.Find(ctx, token)
	}
	v.finding.Lock()
	defer v.finding.Unlock()
	if now := s.opts.Now(); v.asked.IsZero() || now.Sub(v.asked) >= foundFor {
		v.asked = now
		v.in, v.found, v.err = s.opts.SignIns.Find(ctx, token)
	}
	return v.in, v.found, v.err
}

// visit is what is found out about the cookie of one request. It hangs on the request's context and is read here alone.
type visit struct {
	finding sync.Mutex // guards the fields below, and makes whoever else asks for them wait
	asked   time.Time
	in      mooring.SignIn
	found   bool
	err     error

	mu     sync.Mutex // guards what follows
	caller mooring.Caller
}

type visitKey struct{}

// visiting makes room for a visit where the request has a cookie at all.
func visiting(r *http.Request) *http.Request {
	if len(r.Header["Cookie"]) == 0 || !takesCookie(r.URL.Path) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{}))
}

func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

func (v *visit) note(c mooring.Caller) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.caller = c
}

// signedInOr is who was found by the request's cookie, another caller where nobody was.
func (v *visit) signedInOr(other mooring.Caller) mooring.Caller {
	if v == nil {
		return other
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.caller.SignedIn {
		return v.caller
	}
	return other
}

func errCookieForeign() error {
	return mooring.Errorf(mooring.CodeOriginForbidden,
		"The pages' sign-in counts only for requests of the pages themselves; send a key in a header instead.")
}

package edge

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"mooring"
	"mooring/internal/openid"
)

// LoginOptions are what the edge signs people in with.
type LoginOptions struct {
	Provider *openid.Provider
	Issuer   string
	ClientID string
	Secret   []byte        // seals cookies and tokens; the same on every replica
	Idle     time.Duration // without use; 0 for 8 hours
	MaxAge   time.Duration // at all; 0 for 24 hours
}

const (
	ssoName     = "__Host-mooring_sso"
	beginPrefix = "__Host-mooring_oidc_"
	beginTime   = 10 * time.Minute
	beginsKept  = 5 // logins that one browser may have begun

	defaultIdle   = 8 * time.Hour
	defaultMaxAge = 24 * time.Hour
	loginSeen     = 5 * time.Minute
	// loginHold is how long a login that was read counts: every file of a page asks for it.
	loginHold  = 2 * time.Second
	maxHeld    = 10_000
	renewAhead = time.Minute
	renewTime  = 15 * time.Second
	// silentTime is how long a provider that did not answer is not asked again.
	silentTime = 3 * time.Second
	// renewGrace is how long a login goes on that the provider cannot be asked about.
	renewGrace = 5 * time.Minute

	maxLogoutBody = 16 << 10
	logoutsASec   = 50
)

// login is the edge as a relying party: people sign in at a provider, and the edge knows their browsers by a cookie.
type login struct {
	e      *Edge
	o      LoginOptions
	seal   *sealer
	cross  *http.CrossOriginProtection
	notice *rate.Limiter

	mu      sync.Mutex // guards what follows
	held    map[string]heldLogin
	renewal map[string]*renewal // one that runs here
	silent  time.Time           // until when the provider, which did not answer, is left alone
}

type heldLogin struct {
	mooring.Login
	at time.Time
}

// kept is what the store has sealed of a login.
type kept struct {
	Refresh string `json:"r,omitempty"`
	ID      string `json:"i"`
	Nonce   string `json:"n"`
}

func newLogin(e *Edge, o LoginOptions) *login {
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.MaxAge <= 0 {
		o.MaxAge = defaultMaxAge
	}
	return &login{
		e: e, o: o, seal: newSealer(o.Secret), cross: http.NewCrossOriginProtection(), notice: rate.NewLimiter(logoutsASec, logoutsASec),
		held: map[string]heldLogin{}, renewal: map[string]*renewal{},
	}
}

func (l *login) now() time.Time { return l.e.opts.Now() }

// identify finds the login that a browser's cookie stands for, and has the provider confirm it where its last word is used up.
func (l *login) identify(ctx context.Context, r *http.Request, cookies *brought) (person, error) {
	raw := cookies.others[ssoName]
	if raw == "" {
		return person{}, nobody()
	}
	digest := l.seal.digest("login", raw)
	is, err := l.find(ctx, digest)
	if err != nil {
		return person{}, err
	}
	switch {
	case l.proven(&is):
	case wantsStream(r): // it waits for the page's other requests to ask, but not for ever: anybody may say that they want a stream
		err = l.unasked(&is, errUnproven)
	default:
		is, err = l.renew(ctx, is)
	}
	if err != nil {
		return person{}, err
	}
	if now := l.now(); now.Sub(is.SeenAt) >= loginSeen {
		if err = l.e.opts.Commit(ctx, &mooring.LoginChange{Seen: &mooring.Login{Token: digest, SeenAt: now}}); err != nil {
			l.e.log.LogAttrs(ctx, slog.LevelWarn, "a login's use was not noted", slog.Any("err", err))
		}
		l.forget(digest)
	}
	return person{key: is.Key, login: digest}, nil
}

// find gives a login that counts.
func (l *login) find(ctx context.Context, digest []byte) (mooring.Login, error) {
	now := l.now()
	l.mu.Lock()
	is, ok := l.held[string(digest)]
	l.mu.Unlock()
	if !ok || now.Sub(is.at) >= loginHold {
		read, found, err := l.read(ctx, digest)
		if err != nil {
			return mooring.Login{}, storeDown(err)
		}
		if !found {
			return mooring.Login{}, nobody()
		}
		is = heldLogin{read, now}
		l.hold(is)
	}
	if !is.Ends.After(now) || now.Sub(is.SeenAt) >= l.o.Idle {
		return mooring.Login{}, nobody()
	}
	return is.Login, nil
}

func (l *login) read(ctx context.Context, digest []byte) (mooring.Login, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return l.e.opts.Store.Login(ctx, digest)
}

func (l *login) hold(is heldLogin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) >= maxHeld {
		clear(l.held)
	}
	l.held[string(is.Token)] = is
}

func (l *login) forget(digest []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, string(digest))
}

func (l *login) proven(is *mooring.Login) bool {
	return is.Proven.IsZero() || is.Proven.After(l.now().Add(renewAhead))
}

// drop ends a login.
func (l *login) drop(ctx context.Context, digest []byte) error {
	if err := l.e.opts.Commit(ctx, &mooring.LoginChange{DropToken: digest}); err != nil {
		return storeDown(err)
	}
	l.forget(digest)
	l.endThose(func(login []byte) bool { return string(login) == string(digest) })
	return nobody()
}

func (l *login) endThose(meant func(login []byte) bool) {
	l.e.open.end(func(v *visit) bool { return v.login != nil && meant(v.login) })
}

// endGone ends what runs on logins that are no longer there; false where that could not be found out for all.
func (l *login) endGone(ctx context.Context) bool {
	all := true
	for id, digest := range l.e.open.logins() {
		_, found, err := l.read(ctx, digest)
		switch {
		case err != nil:
			all = false
		case !found:
			l.forget(digest)
			l.endThose(func(login []byte) bool { return string(login) == id })
		}
	}
	return all
}

func (l *login) subject(sub string) []byte { return l.seal.digest("subject", l.o.Issuer, sub) }

// serve answers on /oauth2/.
func (l *login) serve(w http.ResponseWriter, r *http.Request, v *visit, cookies *brought) error {
	switch {
	case v.path == "/oauth2/start" && r.Method == http.MethodGet:
		return l.start(w, r, cookies)
	case v.path == "/oauth2/callback" && r.Method == http.MethodGet:
		return l.callback(w, r, cookies)
	case v.path == "/oauth2/sign_out" && r.Method == http.MethodGet:
		return l.confirm(w)
	case v.path == "/oauth2/sign_out" && r.Method == http.MethodPost:
		return l.signOut(w, r, cookies)
	case v.path == "/oauth2/backchannel-logout" && r.Method == http.MethodPost:
		return l.backchannel(w, r)
	case slices.Contains([]string{"/oauth2/start", "/oauth2/callback", "/oauth2/sign_out", "/oauth2/backchannel-logout"}, v.path):
		return notAllowed()
	}
	return notFound()
}

// begun is what a browser holds, sealed, of a login that it has begun.
type begun struct {
	State, Nonce, Verifier, Return string
	At                             time.Time
}

func beginName(state string) string { return beginPrefix + hex.EncodeToString([]byte(state))[:8] }

func (l *login) start(w http.ResponseWriter, r *http.Request, cookies *brought) error {
	back := "/"
	if q, err := url.ParseQuery(r.URL.RawQuery); err == nil && len(q["rd"]) == 1 {
		back = safeReturn(q.Get("rd"))
	}
	b := begun{State: token(), Nonce: token(), Verifier: oauth2.GenerateVerifier(), Return: back, At: l.now()}
	to, err := l.o.Provider.AuthURL(r.Context(), b.State, b.Nonce, b.Verifier)
	if err != nil {
		return unasked(err)
	}
	name := beginName(b.State)
	sealed, err := l.seal.seal(name, b)
	if err != nil {
		return slotFailed(err)
	}
	for _, old := range l.tooMany(cookies) {
		w.Header().Add("Set-Cookie", bake(old, "", -1))
	}
	w.Header().Add("Set-Cookie", bake(name, base64.RawURLEncoding.EncodeToString(sealed), int(beginTime/time.Second)))
	redirect(w, to)
	return nil
}

// opened reads a login that this browser has begun.
func (l *login) opened(name, value string) (begun, bool) {
	var b begun
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || l.seal.open(name, raw, &b) != nil {
		return begun{}, false
	}
	return b, l.now().Sub(b.At) < beginTime
}

// tooMany are begun logins that make room for another one: the oldest, and those that are over.
func (l *login) tooMany(cookies *brought) []string {
	type one struct {
		name string
		at   time.Time
	}
	var good []one
	var drop []string
	for name, value := range cookies.others {
		if !strings.HasPrefix(name, beginPrefix) {
			continue
		}
		if b, ok := l.opened(name, value); ok {
			good = append(good, one{name, b.At})
		} else {
			drop = append(drop, name)
		}
	}
	slices.SortFunc(good, func(a, b one) int { return a.at.Compare(b.at) })
	for len(good) >= beginsKept {
		drop, good = append(drop, good[0].name), good[1:]
	}
	return drop
}

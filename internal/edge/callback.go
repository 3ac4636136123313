package edge

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"time"

	"mooring"
	"mooring/internal/openid"
)

// failedLogin is for a sign-in that came to nothing; the cause, where there is one to tell, is for the log.
func failedLogin(cause error) *refusal {
	r := badRequest("The sign-in did not come about; begin it again. Where that does not help, ask whoever runs this server.")
	r.cause = cause
	return r
}

var errSubject = errors.New("the identity provider's name (`sub`) for somebody is over 255 bytes, or holds more than letters, digits and . _ : -")

// noByProvider is the error that a provider sent a browser back with; what is no word of the protocols' own is not repeated (RFC 6749,
// section 4.1.2.1; OpenID Connect Core 1.0, section 3.1.2.6).
func noByProvider(word string) error {
	switch word {
	case "invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope", "server_error", "temporarily_unavailable",
		"interaction_required", "login_required", "account_selection_required", "consent_required":
		return fmt.Errorf("the identity provider ended the sign-in: %s", word)
	}
	return errors.New("the identity provider ended the sign-in")
}

// callback takes a browser back from the provider. Whatever comes of it, the login that was begun is used up.
func (l *login) callback(w http.ResponseWriter, r *http.Request, cookies *brought) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return failedLogin(nil)
	}
	for _, name := range []string{"state", "code", "error", "iss", "session_state"} {
		if len(q[name]) > 1 {
			return failedLogin(nil)
		}
	}
	state := q.Get("state")
	if len(state) < 8 {
		return failedLogin(nil)
	}
	name := beginName(state)
	b, ok := l.opened(name, cookies.others[name])
	if cookies.others[name] != "" {
		w.Header().Add("Set-Cookie", bake(name, "", -1))
	}
	if !ok || !constantEqual(b.State, state) {
		if _, err = l.identify(r.Context(), r, cookies); err == nil && cookies.others[name] == "" {
			redirect(w, "/") // a page that was gone back to; its person is signed in
			return nil
		}
		return failedLogin(nil)
	}
	iss := q.Get("iss")
	switch {
	case iss != "" && iss != l.o.Issuer:
		return failedLogin(errors.New("the sign-in came back from another issuer"))
	case q.Has("error"):
		return failedLogin(noByProvider(q.Get("error")))
	case q.Get("code") == "":
		return failedLogin(nil)
	}
	return l.finish(w, r, cookies, &b, q.Get("code"))
}

func (l *login) finish(w http.ResponseWriter, r *http.Request, cookies *brought, b *begun, code string) error {
	ctx, now := r.Context(), l.now()
	spent := &mooring.Spent{Mark: l.seal.digest("state", b.State), Until: b.At.Add(beginTime)}
	if err := l.e.opts.Commit(ctx, &mooring.LoginChange{Sweep: now, Spend: spent}); err != nil {
		if mooring.CodeOf(err) == mooring.CodeSpent {
			return failedLogin(nil)
		}
		return storeDown(err)
	}
	g, err := l.o.Provider.Exchange(ctx, code, b.Nonce, b.Verifier)
	switch {
	case errors.Is(err, openid.ErrUnknown):
		return unasked(err)
	case errors.Is(err, openid.ErrClient):
		return &refusal{status: http.StatusBadGateway, code: mooring.CodeUpstreamError, words: "Signing in does not work here at the moment; ask whoever runs this server.", cause: err}
	case err != nil:
		return failedLogin(err)
	}
	subject, ok := subjectOf(g.Subject)
	if !ok {
		refused := nobody()
		refused.words, refused.cause = "The name that you signed in under cannot be used here; ask whoever runs this server.", errSubject
		return refused
	}
	g.Subject = subject
	return l.open(w, r, cookies, &g, b)
}

// open signs a browser in, under a new token: what it had before counts no longer.
func (l *login) open(w http.ResponseWriter, r *http.Request, cookies *brought, g *openid.Grant, b *begun) error {
	now, raw := l.now(), token()
	sealed, err := l.seal.seal("login", kept{Refresh: g.Refresh, ID: g.Raw, Nonce: b.Nonce})
	if err != nil {
		return slotFailed(err)
	}
	add := &mooring.Login{
		Token: l.seal.digest("login", raw), Key: tenantKey(l.e.set.Salt, l.o.Issuer, g.Subject), Subject: l.subject(g.Subject), CreatedAt: now, SeenAt: now,
		Proven: g.Expires, Ends: now.Add(l.o.MaxAge), Sealed: sealed,
	}
	if g.Session != "" {
		add.Session = l.seal.digest("provider's session", l.o.Issuer, g.Session)
	}
	c := &mooring.LoginChange{Add: add}
	if old := cookies.others[ssoName]; old != "" {
		c.DropToken = l.seal.digest("login", old)
	}
	if err = l.e.opts.Commit(r.Context(), c); err != nil {
		return storeDown(err)
	}
	if c.DropToken != nil {
		l.forget(c.DropToken)
		l.endThose(func(login []byte) bool { return string(login) == string(c.DropToken) })
	}
	w.Header().Add("Set-Cookie", bake(ssoName, raw, int(l.o.MaxAge/time.Second)))
	redirect(w, b.Return)
	return nil
}

// confirm asks before it ends anything: a link on some page must not sign people out.
func (l *login) confirm(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store, private")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(page("Sign out", `<form method="post" action="/oauth2/sign_out"><p>Your sessions stay where they are.</p>
<p><button type="submit">Sign out</button></p>
<p><label><input type="checkbox" name="everywhere" value="1"> On all my devices</label></p></form>`)) // a client that is gone cannot be told
	return nil
}

func (l *login) signOut(w http.ResponseWriter, r *http.Request, cookies *brought) error {
	if l.cross.Check(r) != nil {
		return &refusal{status: http.StatusForbidden, code: mooring.CodeOriginForbidden, words: "Sign out on this server's own page."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLogoutBody)
	to, err := l.leave(r, cookies.others[ssoName])
	if err != nil {
		return err
	}
	h := w.Header()
	for _, name := range append([]string{ssoName, bindingName}, l.e.set.Cookies[:]...) {
		h.Add("Set-Cookie", bake(name, "", -1))
	}
	h.Set("Clear-Site-Data", `"cache", "storage"`)
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// leave ends the login of a cookie, or all of its person's where the form says so, and gives where to go then.
func (l *login) leave(r *http.Request, raw string) (to string, err error) {
	if raw == "" {
		return "/", nil
	}
	ctx := r.Context()
	is, found, err := l.read(ctx, l.seal.digest("login", raw))
	switch {
	case err != nil:
		return "", storeDown(err)
	case !found:
		return "/", nil
	}
	c := &mooring.LoginChange{DropToken: is.Token}
	if r.PostFormValue("everywhere") != "" {
		c.DropSubject = is.Subject
	}
	if err = l.e.opts.Commit(ctx, c); err != nil {
		return "", storeDown(err)
	}
	l.forgetAll()
	l.endGone(ctx)
	return l.afterwards(ctx, &is), nil
}

// forgetAll has every login read again.
func (l *login) forgetAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.held)
}

// afterwards is where the provider ends its own session.
func (l *login) afterwards(ctx context.Context, is *mooring.Login) string {
	end := l.o.Provider.EndURL(ctx)
	u, err := url.Parse(end)
	if end == "" || err != nil {
		return "/"
	}
	q := u.Query()
	q.Set("client_id", l.o.ClientID)
	q.Set("post_logout_redirect_uri", l.e.set.Origin+"/")
	var k kept
	if l.seal.open("login", is.Sealed, &k) == nil && k.ID != "" {
		q.Set("id_token_hint", k.ID) // the provider's own token goes back to it, as its protocol wants
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// backchannel takes the provider's word that a person has signed out there.
func (l *login) backchannel(w http.ResponseWriter, r *http.Request) error {
	if !l.notice.Allow() {
		return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeUpstreamUnavailable, words: "Too many at once; try again.", wait: soon}
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	r.Body = http.MaxBytesReader(w, r.Body, maxLogoutBody)
	if err != nil || media != "application/x-www-form-urlencoded" || r.ParseForm() != nil || len(r.PostForm["logout_token"]) != 1 {
		return badRequest("That is no logout token.")
	}
	said, err := l.o.Provider.Logout(r.Context(), r.PostForm.Get("logout_token"))
	switch {
	case errors.Is(err, openid.ErrUnknown):
		return unasked(err)
	case err != nil:
		refused := badRequest("That is no logout token.")
		refused.cause = err
		return refused
	}
	c := &mooring.LoginChange{Spend: &mooring.Spent{Mark: l.seal.digest("logout", l.o.Issuer, said.ID), Until: l.now().Add(beginTime)}}
	if said.Session != "" {
		c.DropSession = l.seal.digest("provider's session", l.o.Issuer, said.Session)
	} else {
		c.DropSubject = l.subject(said.Subject)
	}
	if err = l.e.opts.Commit(r.Context(), c); err != nil {
		if mooring.CodeOf(err) == mooring.CodeSpent {
			return badRequest("That logout token has been used.")
		}
		return storeDown(err)
	}
	l.forgetAll()
	l.endGone(r.Context())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return nil
}

package edge

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"time"

	"mooring"
	"mooring/internal/openid"
)

func failedLogin() *refusal {
	return badRequest("The sign-in did not come about; begin it again.")
}

// callback takes a browser back from the provider. Whatever comes of it, the login that was begun is used up.
func (l *login) callback(w http.ResponseWriter, r *http.Request, cookies *brought) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return failedLogin()
	}
	for _, name := range []string{"state", "code", "error", "iss", "session_state"} {
		if len(q[name]) > 1 {
			return failedLogin()
		}
	}
	state := q.Get("state")
	if len(state) < 8 {
		return failedLogin()
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
		return failedLogin()
	}
	if iss := q.Get("iss"); iss != "" && iss != l.o.Issuer || q.Has("error") || q.Get("code") == "" {
		return failedLogin()
	}
	return l.finish(w, r, cookies, &b, q.Get("code"))
}

func (l *login) finish(w http.ResponseWriter, r *http.Request, cookies *brought, b *begun, code string) error {
	ctx, now := r.Context(), l.now()
	spent := &mooring.Spent{Mark: l.seal.digest("state", b.State), Until: b.At.Add(beginTime)}
	if err := l.e.opts.Commit(ctx, &mooring.LoginChange{Sweep: now, Spend: spent}); err != nil {
		if mooring.CodeOf(err) == mooring.CodeSpent {
			return failedLogin()
		}
		return storeDown(err)
	}
	g, err := l.o.Provider.Exchange(ctx, code, b.Nonce, b.Verifier)
	switch {
	case errors.Is(err, openid.ErrUnknown):
		return unproven(errors.Join(ErrUnknown, err))
	case err != nil:
		refused := failedLogin()
		refused.cause = err
		return refused
	}
	subject, ok := subjectOf(g.Subject)
	if !ok {
		return nobody()
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
		return unproven(errors.Join(ErrUnknown, err))
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

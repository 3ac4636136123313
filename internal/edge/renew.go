package edge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"mooring"
	"mooring/internal/openid"
)

// renewal is a question to the provider that several requests wait for.
type renewal struct {
	done chan struct{}
	err  error // of whoever asks; set before done is closed
}

// renew asks the provider whether a login still holds. Of all requests and replicas one asks: a provider that rotates its refresh tokens
// ends a login whose token comes twice.
func (l *login) renew(ctx context.Context, is mooring.Login) (mooring.Login, error) {
	id := string(is.Token)
	l.mu.Lock()
	if running := l.renewal[id]; running != nil {
		l.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return is, storeDown(ctx.Err())
		}
		if running.err != nil {
			return is, running.err
		}
		return l.find(ctx, is.Token)
	}
	if l.now().Before(l.silent) {
		l.mu.Unlock()
		return is, l.unasked(&is, errSilentProvider)
	}
	mine := &renewal{done: make(chan struct{})}
	l.renewal[id] = mine
	l.mu.Unlock()
	is, mine.err = l.lease(ctx, is)
	l.mu.Lock()
	delete(l.renewal, id)
	l.mu.Unlock()
	close(mine.done)
	return is, mine.err
}

// lease takes the right to ask, and asks unless another replica has done so.
func (l *login) lease(ctx context.Context, is mooring.Login) (mooring.Login, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime) // others wait for it too
	defer cancel()
	now := l.now()
	lease := &mooring.Login{Token: is.Token, SeenAt: now, Renewing: now.Add(renewTime)}
	if err := l.e.opts.Commit(ctx, &mooring.LoginChange{Lease: lease}); err != nil {
		if mooring.CodeOf(err) == mooring.CodeLoginBusy {
			return l.leased(ctx, is)
		}
		return is, storeDown(err)
	}
	l.forget(is.Token) // what is known here may be older than the renewal of another replica, and its token used up
	fresh, err := l.find(ctx, is.Token)
	switch {
	case err != nil:
		return is, err
	case l.proven(&fresh):
		return fresh, nil
	}
	return l.ask(ctx, fresh)
}

// leased goes on while another replica is asking: at once where the provider's last word still holds, else once there is a new one.
func (l *login) leased(ctx context.Context, is mooring.Login) (mooring.Login, error) {
	if is.Proven.After(l.now()) {
		return is, nil
	}
	for {
		select {
		case <-ctx.Done():
			return is, l.unasked(&is, ctx.Err())
		case <-time.After(leasedPause):
		}
		l.forget(is.Token)
		got, err := l.find(ctx, is.Token)
		switch {
		case err != nil || l.proven(&got):
			return got, err
		case !got.Renewing.After(l.now()):
			return got, l.unasked(&got, errSilentProvider)
		}
	}
}

// leasedPause is how soon what another replica has found out is looked for.
const leasedPause = 200 * time.Millisecond

var (
	errSilentProvider = errors.New("the provider has just not answered")
	errUnproven       = errors.New("the provider has not been asked for too long")
)

func (l *login) ask(ctx context.Context, is mooring.Login) (mooring.Login, error) {
	var k kept
	if err := l.seal.open("login", is.Sealed, &k); err != nil {
		return is, l.drop(ctx, is.Token)
	}
	if k.Refresh == "" { // the provider gives no way to ask; the login lasts as long as the edge lets it
		is.Proven = time.Time{}
		return is, l.store(ctx, &is, k)
	}
	g, err := l.o.Provider.Refresh(ctx, k.Refresh, k.Nonce)
	switch {
	case errors.Is(err, openid.ErrRefused), err == nil && g.Raw != "" && !slices.Equal(l.subject(g.Subject), is.Subject):
		return is, l.drop(ctx, is.Token)
	case err != nil:
		l.mu.Lock()
		l.silent = l.now().Add(silentTime)
		l.mu.Unlock()
		_ = l.store(ctx, &is, k) // another replica may have a way to the provider; where this fails, the lease runs out
		return is, l.unasked(&is, err)
	}
	is.Proven = g.Expires
	return is, l.store(ctx, &is, kept{Refresh: g.Refresh, ID: cmp.Or(g.Raw, k.ID), Nonce: k.Nonce})
}

// unasked lets a login go on for a while that nobody can ask about.
func (l *login) unasked(is *mooring.Login, err error) error {
	if l.now().Before(is.Proven.Add(renewGrace)) {
		return nil
	}
	return unasked(err)
}

func (l *login) store(ctx context.Context, is *mooring.Login, k kept) error {
	sealed, err := l.seal.seal("login", k)
	if err != nil {
		return storeDown(err)
	}
	is.Sealed, is.Renewing = sealed, time.Time{}
	err = l.e.opts.Commit(ctx, &mooring.LoginChange{Renew: is})
	switch {
	case mooring.CodeOf(err) == mooring.CodeLoginBusy: // it was ended meanwhile
		l.forget(is.Token)
		return nobody()
	case err != nil:
		return storeDown(err)
	}
	l.hold(heldLogin{*is, l.now()})
	return nil
}

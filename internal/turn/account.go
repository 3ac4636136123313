package turn

import (
	"context"
	"net/http"
	"slices"

	"mooring"
	"mooring/internal/route"
	"mooring/internal/upstream"
)

// otherAccount says that the session's pin names another account of the target: one that is no more, or that had no name.
func (t *running) otherAccount() bool {
	return t.pin != nil && t.pin.Upstream == t.target.Name && t.pin.Account != t.target.account.Name
}

// nextAccount aims at another account of the target after one was refused or had used up its quota; false where the failure was not
// the account's, or no other one is left.
func (t *running) nextAccount(ctx context.Context) bool {
	n := len(t.turn.Attempts)
	if n == t.earlier {
		return false
	}
	last := &t.turn.Attempts[n-1]
	return last.Upstream == t.target.Name && ofAccount(last.Status) && t.switchAccount(ctx)
}

// ofAccount says that an answer of this status concerns the credential it was asked with, and no other.
func ofAccount(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	return false
}

// switchAccount aims at an account of the target that this turn has not asked, and that does not rest. Where the server keeps the
// conversation there is none: it would not know it under another account.
func (t *running) switchAccount(ctx context.Context) bool {
	from := t.target
	if from.Failover != failoverNext || from.Remote || len(from.Accounts) < 2 || t.settle(ctx) != nil || t.target.Upstream != from.Upstream {
		return false
	}
	if t.target.account.Name != from.account.Name { // that of a turn which was faster
		return true
	}
	left := route.Candidate{Name: t.target.Name}
	for _, a := range t.target.Accounts {
		if a.Name != t.target.account.Name && !t.asked(a.Name) && !rests(t.target.Rest(a.Name, t.Now())) {
			left.Accounts = append(left.Accounts, route.Account{Name: a.Name, Weight: a.Weight})
		}
	}
	if len(left.Accounts) == 0 {
		return false
	}
	to := t.target
	to.account, to.why = t.target.Account(route.AccountFor(string(t.found.Known.ID), left)), mooring.WhyFailover
	switch {
	case t.side():
		to.mark = ""
	case to.mark == mooring.PinHit:
		to.mark, t.bound = mooring.PinMoved, false
	}
	t.setTarget(to)
	return true
}

// asked says that this turn has asked an account of the target.
func (t *running) asked(name mooring.AccountName) bool {
	return slices.ContainsFunc(t.turn.Attempts[t.earlier:], func(a mooring.Attempt) bool { return a.Upstream == t.target.Name && a.Account == name })
}

func rests(r upstream.Rest) bool { return r != upstream.Rest{} }

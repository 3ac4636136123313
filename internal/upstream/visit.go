package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mooring"
)

// ErrAvoided says that a request was not let in because it rather goes elsewhere than to a server that stands like this.
var ErrAvoided = errors.New("the server is not well")

// Visitor is a request that wants in, and on which terms. The zero value of a term asks for nothing.
type Visitor struct {
	Account mooring.AccountName
	Tenant  mooring.Tenant      // those who wait for a place are served tenant by tenant
	Avoid   func(Standing) bool // of which standing it rather goes elsewhere; nil: it takes any
	Wait    time.Duration       // for a place
	Depth   int                 // how many of one tenant's requests may wait for each place
}

// Visit is one request at a server, used by one goroutine. What becomes of the request is told to it, and Leave ends it.
type Visit struct {
	at      *Upstream
	account mooring.AccountName
	probe   bool // while it is out, the others keep away
}

// Enter lets a request in and counts it as in flight. It waits for a place as long as the visitor would, and gives ErrFull, or
// ErrAvoided, where it did not get in; the context's error where that ended first.
func (u *Upstream) Enter(ctx context.Context, v Visitor, now func() time.Time) (*Visit, error) {
	if err := u.state.places.enter(ctx, &v); err != nil {
		return nil, err
	}
	probe, err := u.state.circuit.pass(v.Avoid, now())
	if err != nil {
		u.state.places.leave()
		return nil, err
	}
	u.state.requests.Add(1)
	u.state.rests.asked(v.Account)
	return &Visit{at: u, account: v.Account, probe: probe}, nil
}

// Leave counts the request out.
func (v *Visit) Leave() {
	if v.probe { // it ended without saying anything of the server
		v.at.state.circuit.unproved()
		v.probe = false
	}
	v.at.state.places.leave()
}

// Unanswered notes that the server could not be reached, broke off before an answer or gave none in time. A client that went away
// is none of this.
func (v *Visit) Unanswered(now time.Time) {
	v.at.state.failures.Add(1)
	v.at.state.circuit.silent(now, v.take())
}

// Answered notes the header of an answer. A 2xx says nothing of the server yet: Began or Fell do, once its body has begun.
func (v *Visit) Answered(status int, header http.Header, now time.Time) {
	v.at.heed(v.account, status, header, now)
	switch {
	case status >= http.StatusInternalServerError:
		v.erred(now)
	case status/100 != 2:
		v.at.state.circuit.well()
		v.probe = false
	}
}

// Began notes that a 2xx is an answer indeed: the server is well, and so is the account.
func (v *Visit) Began() {
	v.at.state.circuit.well()
	v.at.state.rests.clear(v.account)
	v.probe = false
}

// Fell notes that a 2xx broke off, or held an error, before anything meant for the client.
func (v *Visit) Fell(now time.Time) { v.erred(now) }

func (v *Visit) erred(now time.Time) {
	v.at.state.failures.Add(1)
	v.at.state.circuit.erred(now, v.take())
}

// take says whether the visit is the probe, which its verdict ends.
func (v *Visit) take() proof {
	p := ordinary
	if v.probe {
		p = probing
	}
	v.probe = false
	return p
}

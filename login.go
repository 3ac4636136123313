package mooring

import "time"

// Login is a person's browser that has logged in at the edge through an OpenID provider. Subject, provider's session and tokens
// are kept as digests or sealed.
type Login struct {
	Token     []byte // digest of what the browser's cookie holds
	Key       TenantKey
	Subject   []byte // digest of issuer and subject
	Session   []byte // digest of issuer and the provider's own session id; nil where it named none
	CreatedAt time.Time
	SeenAt    time.Time // to some minutes
	Proven    time.Time // until when the provider's last word on it holds
	Renewing  time.Time // until when one replica alone asks the provider again
	Ends      time.Time // it counts no longer than this
	Sealed    []byte    // the provider's tokens, under a key of the server's own
}

// LoginChange is what happens to logins; each part that is set is done, in this order.
type LoginChange struct {
	Sweep time.Time // what had ended by then is removed
	Spend *Spent    // what counts once
	// Drop removes the logins with this token, subject or session of the provider.
	DropToken, DropSubject, DropSession []byte

	Lease *Login // Token and Renewing: where nobody else is renewing at SeenAt
	Seen  *Login // Token and SeenAt
	Renew *Login // Token, Proven and Sealed; nobody is renewing it any more
	Add   *Login

	Dropped int   // after the commit: how many logins Drop has removed
	Err     error // CodeSpent: nothing was done, Spend has been there before. CodeLoginBusy: somebody else is renewing it, or it is gone
}

// Outcome gives Err.
func (c *LoginChange) Outcome() error { return c.Err }

// Spent is a thing that may be used once, such as the state of a login that was begun.
type Spent struct {
	Mark  []byte    // its digest
	Until time.Time // afterwards the thing itself counts for nothing
}

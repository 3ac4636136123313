package mooring

import "time"

// SignIn is a person's browser, signed in with a key. It belongs to the key and has nothing of its own: tenant, role and limits
// are the key's, as the configuration has them at the time of each request.
type SignIn struct {
	Token     []byte // digest of what the browser's cookie holds; that itself is kept nowhere
	Key       KeyName
	Mark      []byte // keyed digest of the key's name and hash: another key under the name is another mark
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time // moves on while the browser is used
}

// SignInChange is what happens to sign-ins; each part that is set is done, in this order.
type SignInChange struct {
	Expired time.Time // those that ended by then are removed
	Drop    []byte    // the one with this token is removed
	Seen    *SignIn   // SeenAt and ExpiresAt of the one with this token move on; one that is gone stays so
	Add     *SignIn
	Keep    int // how many the key of Add has at most, the last ones seen; 0 for any number

	Err error
}

// Outcome gives Err.
func (c *SignInChange) Outcome() error { return c.Err }

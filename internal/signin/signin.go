// Package signin keeps who is signed in to the pages with a browser: the cookie, the token in it, and how long it counts.
//
// A token is 256 random bits; the store has its digest alone. A sign-in belongs to a client key: it counts as long as the key is
// there with the hash it had, which is for the caller to look up. The package knows no keys, tenants or routes, and has no
// goroutines: what has ended is swept whenever somebody signs in.
package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"time"

	"mooring"
)

const (
	// Idle is how long a sign-in counts without being used.
	Idle = 30 * 24 * time.Hour
	// Longest is how long it counts however much it is used.
	Longest = 90 * 24 * time.Hour

	renewEvery = time.Hour // writing it down at each request would make every read a write
	perKey     = 1000      // a key's sign-ins; a team may share one
	tokenBytes = 32
)

// Store finds sign-ins; sqlstore.Store is one.
type Store interface {
	SignIn(ctx context.Context, token []byte) (mooring.SignIn, bool, error)
}

// Options is what a Book is made of. All fields must be set.
type Options struct {
	Store  Store
	Commit func(ctx context.Context, c mooring.Change) error // returns once the store has the change
	Secret []byte                                            // keys the digests
	Now    func() time.Time
	Log    *slog.Logger
}

// Book is the sign-ins of all keys.
type Book struct {
	o       Options
	guesses guesses
}

// New makes a book. Nothing is read before the first question.
func New(o Options) *Book {
	if len(o.Secret) == 0 {
		panic("signin.New: Options.Secret is empty")
	}
	return &Book{o: o}
}

// Open signs a browser in with a key that was found right, and gives the token for its cookie. The browser's sign-in so far, by
// its token, ends with that; empty for none.
func (b *Book) Open(ctx context.Context, key mooring.KeyName, hash []byte, before string) (token string, err error) {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails, says its documentation
	now := b.o.Now()
	in := mooring.SignIn{
		Token: b.digest("token", raw), Key: key, Mark: b.mark(key, hash), CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(Idle),
	}
	c := &mooring.SignInChange{Expired: now, Add: &in, Keep: perKey}
	if old, ok := bytesOf(before); ok {
		c.Drop = b.digest("token", old)
	}
	if err := b.o.Commit(ctx, c); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// Find gives the sign-in of a token, false where it has ended or never was. Whether its key is still there is not looked at: see
// Of.
func (b *Book) Find(ctx context.Context, token string) (mooring.SignIn, bool, error) {
	raw, ok := bytesOf(token)
	if !ok {
		return mooring.SignIn{}, false, nil
	}
	in, found, err := b.o.Store.SignIn(ctx, b.digest("token", raw))
	now := b.o.Now()
	if err != nil || !found || !now.Before(in.ExpiresAt) {
		return mooring.SignIn{}, false, err
	}
	if now.Sub(in.SeenAt) >= renewEvery {
		b.renew(ctx, &in, now)
	}
	return in, true, nil
}

// renew moves the end on. Where that fails the sign-in counts all the same, until its end so far.
func (b *Book) renew(ctx context.Context, in *mooring.SignIn, now time.Time) {
	seen := *in
	seen.SeenAt, seen.ExpiresAt = now, now.Add(Idle)
	if last := in.CreatedAt.Add(Longest); last.Before(seen.ExpiresAt) {
		seen.ExpiresAt = last
	}
	if err := b.o.Commit(ctx, &mooring.SignInChange{Seen: &seen}); err != nil {
		b.o.Log.LogAttrs(ctx, slog.LevelWarn, "sign-in not renewed", slog.Any("err", err))
		return
	}
	*in = seen
}

// Of says that the sign-in was made with this very key, not with another one that had its name.
func (b *Book) Of(in mooring.SignIn, key mooring.KeyName, hash []byte) bool {
	return in.Key == key && hmac.Equal(in.Mark, b.mark(key, hash))
}

// Close ends the sign-in of a token, on every replica; one that is none is none.
func (b *Book) Close(ctx context.Context, token string) error {
	raw, ok := bytesOf(token)
	if !ok {
		return nil
	}
	return b.o.Commit(ctx, &mooring.SignInChange{Drop: b.digest("token", raw)})
}

// mark digests a key's hash once more, keyed: what stands in the store is no help to who guesses keys.
func (b *Book) mark(key mooring.KeyName, hash []byte) []byte {
	return b.digest("key", append([]byte(string(key)+"\x00"), hash...))
}

func (b *Book) digest(what string, value []byte) []byte {
	h := hmac.New(sha256.New, b.o.Secret)
	_, _ = h.Write([]byte(what + "\x00"))
	_, _ = h.Write(value)
	return h.Sum(nil)
}

// bytesOf is what a token is made of; false for anything that was not made here, which spares the store the question.
func bytesOf(token string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return raw, err == nil && len(raw) == tokenBytes
}

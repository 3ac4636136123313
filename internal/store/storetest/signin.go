//nolint:thelper // tables of rules: each row is a test of its own
package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// signIn is the n-th sign-in of a test; it ends an hour after it began.
func signIn(n int, key mooring.KeyName) mooring.SignIn {
	return mooring.SignIn{
		Token: fmt.Appendf([]byte{0, 0xff}, "token %d", n), Key: key, Mark: fmt.Appendf([]byte{0xfe, 0}, "mark %d", n), CreatedAt: at(n), SeenAt: at(n), ExpiresAt: at(n).Add(time.Hour),
	}
}

// signedIn looks for these sign-ins and gives those that are there.
func signedIn(t *testing.T, s Store, list ...mooring.SignIn) []mooring.SignIn {
	t.Helper()
	var found []mooring.SignIn
	for _, in := range list {
		got, ok, err := s.SignIn(t.Context(), in.Token)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			found = append(found, got)
		}
	}
	return found
}

func wantSignIns(t *testing.T, got []mooring.SignIn, want ...mooring.SignIn) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sign-ins (-want +got):\n%s", diff)
	}
}

func signInTests() []test {
	return []test{
		{"a sign-in is found by its token's digest, and by no other", func(t *testing.T, s Store) {
			one, two := signIn(1, "alice"), signIn(2, "alice")
			apply(t, s, &mooring.SignInChange{Add: &one}, &mooring.SignInChange{Add: &two}, &mooring.SignInChange{Add: &one})
			none := signIn(3, "alice")
			none.Token = nil
			wantSignIns(t, signedIn(t, s, one, two, signIn(3, "alice"), none), one, two)
		}},
		{"one that is dropped is gone, and being seen does not revive it", func(t *testing.T, s Store) {
			one, two := signIn(1, "alice"), signIn(2, "alice")
			apply(t, s, &mooring.SignInChange{Add: &one}, &mooring.SignInChange{Add: &two}, &mooring.SignInChange{Drop: one.Token})
			seen := one
			seen.SeenAt = at(30)
			apply(t, s, &mooring.SignInChange{Seen: &seen})
			wantSignIns(t, signedIn(t, s, one, two), two)
		}},
		{"being seen moves the end on, never back", func(t *testing.T, s Store) {
			one := signIn(1, "alice")
			later, earlier := one, one
			later.SeenAt, later.ExpiresAt = at(30), at(30).Add(time.Hour)
			earlier.SeenAt, earlier.ExpiresAt = at(20), at(20).Add(time.Hour)
			apply(t, s, &mooring.SignInChange{Add: &one}, &mooring.SignInChange{Seen: &later}, &mooring.SignInChange{Seen: &earlier})
			wantSignIns(t, signedIn(t, s, one), later)
		}},
		{"what has ended is swept, all else stays", func(t *testing.T, s Store) {
			one, two, three := signIn(1, "alice"), signIn(2, "bob"), signIn(3, "bob")
			apply(t, s, &mooring.SignInChange{Add: &one}, &mooring.SignInChange{Add: &two})
			apply(t, s, &mooring.SignInChange{Expired: one.ExpiresAt, Add: &three})
			wantSignIns(t, signedIn(t, s, one, two, three), two, three)
		}},
		{"a key keeps the ones last seen", func(t *testing.T, s Store) {
			one, two, three, other := signIn(1, "alice"), signIn(2, "alice"), signIn(3, "alice"), signIn(4, "bob")
			seen := one
			seen.SeenAt = at(50)
			apply(t, s, &mooring.SignInChange{Add: &other}, &mooring.SignInChange{Add: &one}, &mooring.SignInChange{Add: &two})
			apply(t, s, &mooring.SignInChange{Seen: &seen}, &mooring.SignInChange{Add: &three, Keep: 2})
			wantSignIns(t, signedIn(t, s, one, two, three, other), seen, three, other)
		}},
	}
}

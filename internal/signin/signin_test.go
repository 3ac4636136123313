package signin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/signin"
)

// shelf is a store of sign-ins in memory, with a clock.
type shelf struct {
	now  time.Time
	rows map[string]mooring.SignIn
	fail error // of commits
	reads,
	commits int
}

func (s *shelf) SignIn(_ context.Context, token []byte) (mooring.SignIn, bool, error) {
	s.reads++
	in, ok := s.rows[string(token)]
	return in, ok, nil
}

func (s *shelf) commit(_ context.Context, c mooring.Change) error {
	s.commits++
	if s.fail != nil {
		return s.fail
	}
	change := c.(*mooring.SignInChange)
	delete(s.rows, string(change.Drop))
	if change.Seen != nil {
		s.rows[string(change.Seen.Token)] = *change.Seen
	}
	if change.Add != nil {
		s.rows[string(change.Add.Token)] = *change.Add
	}
	return nil
}

func newBook(t *testing.T) (*signin.Book, *shelf) {
	t.Helper()
	s := &shelf{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), rows: map[string]mooring.SignIn{}}
	return signin.New(signin.Options{
		Store: s, Commit: s.commit, Secret: []byte("secret"), Now: func() time.Time { return s.now }, Log: slog.New(slog.DiscardHandler),
	}), s
}

func open(t *testing.T, b *signin.Book, before string) string {
	t.Helper()
	token, err := b.Open(t.Context(), "alice", []byte("hash"), before)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func found(t *testing.T, b *signin.Book, token string) bool {
	t.Helper()
	_, ok, err := b.Find(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestTokenIsKeptNowhere(t *testing.T) {
	t.Parallel()
	b, s := newBook(t)
	token, other := open(t, b, ""), open(t, b, "")
	if len(token) != 43 || token == other {
		t.Errorf("tokens %q and %q, want two of 256 bits", token, other)
	}
	for _, in := range s.rows {
		if row := fmt.Sprintf("%q %x %+v", in.Token, in.Mark, in); strings.Contains(row, token) || bytes.Contains(in.Mark, []byte("hash")) {
			t.Errorf("C149 the store has %s", row)
		}
	}
	if !found(t, b, token) || !found(t, b, other) {
		t.Error("an open sign-in is not found")
	}
}

func TestWhatIsNoTokenCostsNoRead(t *testing.T) {
	t.Parallel()
	b, s := newBook(t)
	token := open(t, b, "")
	for _, bad := range []string{"", "6f1d2c3b", token[:42], token + "A", token + "=", strings.Repeat("!", 43), token[:42] + "\n"} {
		if found(t, b, bad) {
			t.Errorf("%q is found", bad)
		}
		if err := b.Close(t.Context(), bad); err != nil {
			t.Error(err)
		}
	}
	if s.reads != 0 || s.commits != 1 {
		t.Errorf("%d reads, %d commits; want none but the opening", s.reads, s.commits)
	}
}

func TestSignInEnds(t *testing.T) {
	t.Parallel()
	b, s := newBook(t)
	idle, used, closed := open(t, b, ""), open(t, b, ""), open(t, b, "")
	if err := b.Close(t.Context(), closed); err != nil || found(t, b, closed) {
		t.Errorf("a closed sign-in is found (%v)", err)
	}
	start := s.now
	for s.now = start; s.now.Before(start.Add(signin.Longest)); s.now = s.now.Add(signin.Idle - time.Hour) {
		if !found(t, b, used) {
			t.Fatalf("after %v of use the sign-in is gone", s.now.Sub(start))
		}
	}
	if found(t, b, idle) {
		t.Error("an idle sign-in is still found")
	}
	s.now = start.Add(signin.Longest)
	if found(t, b, used) {
		t.Error("a sign-in outlives its longest time")
	}
}

func TestUseIsWrittenDownNowAndThen(t *testing.T) {
	t.Parallel()
	b, s := newBook(t)
	token := open(t, b, "")
	before := s.commits
	for range 120 {
		s.now = s.now.Add(time.Minute)
		found(t, b, token)
	}
	if got := s.commits - before; got != 2 {
		t.Errorf("%d commits in two hours of use, want 2", got)
	}
	s.fail, s.now = errors.New("down"), s.now.Add(2*time.Hour)
	if !found(t, b, token) {
		t.Error("a sign-in is lost because its use was not written down")
	}
}

func TestSigningInAgainEndsTheOneBefore(t *testing.T) {
	t.Parallel()
	b, _ := newBook(t)
	first, other := open(t, b, ""), open(t, b, "")
	second := open(t, b, first)
	if found(t, b, first) || !found(t, b, second) || !found(t, b, other) {
		t.Error("want the first gone, and the second and that of another browser there")
	}
}

func TestSignInIsOfOneKey(t *testing.T) {
	t.Parallel()
	b, _ := newBook(t)
	in, _, err := b.Find(t.Context(), open(t, b, ""))
	if err != nil {
		t.Fatal(err)
	}
	if !b.Of(in, "alice", []byte("hash")) || b.Of(in, "alice", []byte("new")) || b.Of(in, "bob", []byte("hash")) || b.Of(mooring.SignIn{}, "", nil) {
		t.Error("want it to be of alice with that hash, and of nobody else")
	}
}

func TestCookie(t *testing.T) {
	t.Parallel()
	for over, want := range map[signin.Transport]string{
		signin.Unknown: "mooring_sign_in=x; Path=/; Max-Age=7776000; HttpOnly; SameSite=Strict",
		signin.TLS:     "__Host-mooring_sign_in=x; Path=/; Max-Age=7776000; HttpOnly; Secure; SameSite=Strict",
	} {
		if got := signin.Cookie("x", over).String(); got != want {
			t.Errorf("cookie %s, want %s", got, want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule   string
		over   signin.Transport
		cookie []string
		want   string
	}{
		{rule: "none"},
		{rule: "the plain one", cookie: []string{"theme=dark; mooring_sign_in=a"}, want: "a"},
		{rule: "the secure one beats it", cookie: []string{"mooring_sign_in=a; __Host-mooring_sign_in=b"}, want: "b"},
		{rule: "the plain one counts for nothing over TLS", over: signin.TLS, cookie: []string{"mooring_sign_in=a"}},
		{rule: "the same one twice is one", cookie: []string{"mooring_sign_in=a", "mooring_sign_in=a"}, want: "a"},
		{rule: "two values are none", cookie: []string{"mooring_sign_in=a; mooring_sign_in=b"}},
		{rule: "two secure ones are none, whatever the plain one says", cookie: []string{"__Host-mooring_sign_in=a; __Host-mooring_sign_in=b; mooring_sign_in=c"}},
		{rule: "names are as they are written", cookie: []string{"Mooring_sign_in=a; mooring_sign_in2=b; xmooring_sign_in=c"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.Header["Cookie"] = tt.cookie
			if got := signin.Token(r, tt.over); got != tt.want {
				t.Errorf("Token = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpiredTakesAwayWhatCame(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	if got := signin.Expired(r); len(got) > 0 {
		t.Errorf("of none: %v", got)
	}
	r.Header.Set("Cookie", "mooring_sign_in=a")
	got := signin.Expired(r)
	if len(got) != 1 || got[0].String() != "mooring_sign_in=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict" {
		t.Errorf("Expired = %v", got)
	}
}

func TestGuessing(t *testing.T) {
	t.Parallel()
	b, s := newBook(t)
	try := func(from string) error {
		_, err := b.Guess(from)
		return err
	}
	for range 100 { // right keys use up nothing
		right, err := b.Guess("192.0.2.1:1000")
		if err != nil {
			t.Fatal(err)
		}
		right()
	}
	for i := range 10 {
		if err := try(fmt.Sprintf("192.0.2.1:%d", 1000+i)); err != nil {
			t.Fatalf("wrong try %d: %v", i, err)
		}
	}
	s.now = s.now.Add(15 * time.Second)
	err := try("192.0.2.1:2000")
	var e *mooring.Error
	if !errors.As(err, &e) || e.Code != mooring.CodeKeyLimit || e.RetryAfter != 45*time.Second {
		t.Errorf("the 11th try: %v, want key_limit and 45 s to wait", err)
	}
	if mooring.CodeOf(try("[::ffff:192.0.2.1]:3000")) != mooring.CodeKeyLimit {
		t.Error("the address is another one as IPv6")
	}
	if err := try("192.0.2.2:1000"); err != nil {
		t.Errorf("another address: %v", err)
	}
	s.now = s.now.Add(45 * time.Second)
	if err := try("192.0.2.1:1000"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	for i := range 10 {
		_ = try(fmt.Sprintf("[2001:db8:1:2::%x]:1000", i))
	}
	if mooring.CodeOf(try("[2001:db8:1:2:ffff::1]:1000")) != mooring.CodeKeyLimit || try("[2001:db8:1:3::1]:1000") != nil {
		t.Error("64 bits of an address of IPv6 are one client, no more")
	}
}

func TestGuessesOfManyAddressesAreBounded(t *testing.T) {
	t.Parallel()
	b, _ := newBook(t)
	for i := range 30_000 {
		if _, err := b.Guess(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)); err != nil {
			t.Fatal(err)
		}
	}
	if got := signin.Counted(b); got > 10_000 {
		t.Errorf("%d addresses are remembered", got)
	}
}

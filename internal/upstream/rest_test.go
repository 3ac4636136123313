package upstream_test

import (
	"net/http"
	"testing"
	"time"

	"mooring"
	"mooring/internal/upstream"
)

// refused is a request of an account that is answered with this status and Retry-After, empty for none.
func refused(t *testing.T, u *upstream.Upstream, account mooring.AccountName, status int, retryAfter string) {
	t.Helper()
	v, err := u.Enter(t.Context(), upstream.Visitor{Account: account}, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	v.Answered(status, h, noon)
	v.Leave()
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"5":   5 * time.Second,
		" 5 ": 5 * time.Second,
		after(5 * time.Second).Format(http.TimeFormat):     5 * time.Second,
		after(-time.Second).Format(http.TimeFormat):        0,
		after(30 * 24 * time.Hour).Format(http.TimeFormat): 24 * time.Hour,
		"Sunday, 01-Mar-26 12:00:09 GMT":                   9 * time.Second,
		"0":                                                0,
		"-1":                                               0,
		"1.5":                                              0,
		"abc":                                              0,
		"":                                                 0,
		"7200":                                             2 * time.Hour,
		"86401":                                            24 * time.Hour,
		"99999999999":                                      24 * time.Hour,
		"99999999999999999999999999999":                    24 * time.Hour,
		"9223372036":                                       24 * time.Hour,
	} {
		u := server(t, upstream.Spec{KeyMode: upstream.KeyNone})
		refused(t, u, "", http.StatusTooManyRequests, value)
		var until time.Time
		if want > 0 {
			until = noon.Add(want)
		}
		if got := u.Rest("", noon).Until; !got.Equal(until) {
			t.Errorf("Retry-After %q: rests until %v, want %v", value, got, until)
		}
	}
}

func TestWhomARestConcerns(t *testing.T) {
	t.Parallel()
	two := []upstream.Account{{Name: "a", Key: "1"}, {Name: "b", Key: "2"}}
	for _, row := range []struct {
		rule    string
		mode    upstream.KeyMode
		status  int
		retry   string
		a, b    time.Duration // how long each account rests after an answer to a
		refused int64
	}{
		{"a limit is the account's", upstream.KeyOwn, 429, "60", time.Minute, 0, 1},
		{"a limit without a time is none to keep", upstream.KeyOwn, 429, "", 0, 0, 1},
		{"a credential that is refused is the account's, whatever else is said", upstream.KeyOwn, 401, "7200", time.Minute, 0, 1},
		{"so is one that has nothing left to spend", upstream.KeyOwn, 402, "", time.Minute, 0, 1},
		{"so is one that may not", upstream.KeyOwn, 403, "", time.Minute, 0, 1},
		{"an overloaded server has all of them wait", upstream.KeyOwn, 529, "30", 30 * time.Second, 30 * time.Second, 0},
		{"so does one that is not there", upstream.KeyOwn, 503, "30", 30 * time.Second, 30 * time.Second, 0},
		{"an error without a time says nothing", upstream.KeyOwn, 503, "", 0, 0, 0},
		{"other errors say nothing", upstream.KeyOwn, 500, "30", 0, 0, 0},
		{"an error of the request says nothing", upstream.KeyOwn, 400, "30", 0, 0, 0},
		{"a client's own limit is no one else's", upstream.KeyClient, 429, "60", 0, 0, 0},
		{"nor is its credential", upstream.KeyClient, 401, "60", 0, 0, 0},
		{"but a server that is overloaded is so for all", upstream.KeyClient, 503, "60", time.Minute, time.Minute, 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			u := server(t, upstream.Spec{KeyMode: row.mode, Accounts: two})
			refused(t, u, "a", row.status, row.retry)
			for name, want := range map[mooring.AccountName]time.Duration{"a": row.a, "b": row.b} {
				r := u.Rest(name, noon)
				if want == 0 && r != (upstream.Rest{}) || want > 0 && (!r.Until.Equal(noon.Add(want)) || r.Status != row.status) {
					t.Errorf("%s rests until %v for %d, want %v", name, r.Until, r.Status, want)
				}
				if over := u.Rest(name, noon.Add(want)); over != (upstream.Rest{}) {
					t.Errorf("%s rests beyond its time, until %v", name, over.Until)
				}
			}
			counts := u.AccountCounts(noon)
			if len(counts) != 2 || counts[0].Requests != 1 || counts[0].Refused != row.refused || counts[1].Requests != 0 {
				t.Errorf("counts %+v, want one request of a, refused %d", counts, row.refused)
			}
			fine(t, u, noon)
			if all := u.Resting(noon); row.b == 0 && all != (upstream.Rest{}) {
				t.Errorf("the upstream rests until %v though an account is awake", all.Until)
			}
		})
	}
}

func TestAnAnswerEndsTheRest(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{Accounts: []upstream.Account{{Name: "a"}, {Name: "b"}}})
	refused(t, u, "a", 429, "60")
	refused(t, u, "b", 429, "30")
	if got := u.Resting(noon); !got.Until.Equal(after(30 * time.Second)) {
		t.Errorf("all rest until %v, want that of the first to wake", got.Until)
	}
	if got, want := u.Ailment(noon), "status 429, rests until 2026-03-01T12:00:30Z"; got != want {
		t.Errorf("ailment %q, want %q", got, want)
	}
	v, err := u.Enter(t.Context(), upstream.Visitor{Account: "a"}, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	v.Answered(http.StatusOK, nil, noon)
	v.Began()
	v.Leave()
	if u.Rest("a", noon) != (upstream.Rest{}) || u.Rest("b", noon) == (upstream.Rest{}) {
		t.Error("an answer ends the rest of its own account, and of no other")
	}
	if u.Resting(noon) != (upstream.Rest{}) || u.Ailment(noon) != "" {
		t.Error("the upstream rests though an account is awake")
	}
}

package upstream_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T, s upstream.Spec) *upstream.Upstream {
	t.Helper()
	if s.Name == "" {
		s.Name = "u1"
	}
	if s.Speaks == "" {
		s.Speaks = upstream.SpeaksBoth
	}
	u, err := upstream.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule   string
		models []string
		model  string
		want   bool
	}{
		{"an exact name", []string{"gpt-x"}, "gpt-x", true},
		{"letters count", []string{"gpt-x"}, "GPT-x", false},
		{"a star covers everything", []string{"*"}, "claude-y", true},
		{"a star covers slashes", []string{"*"}, "openai/gpt-x:free", true},
		{"a star in the middle covers slashes", []string{"openai/*-mini"}, "openai/a/b-mini", true},
		{"a star does not end early", []string{"gpt-*"}, "my/gpt-x", false},
		{"a slash is itself", []string{"openai/gpt-x"}, "openai/gpt-x", true},
		{"a question mark is one character", []string{"gpt-?"}, "gpt-10", false},
		{"a class", []string{"gpt-[45]"}, "gpt-5", true},
		{"no model is covered by a star", []string{"*"}, "", true},
		{"no model is not covered by a name", []string{"gpt-*"}, "", false},
		{"one of several", []string{"a", "b*"}, "bc", true},
		{"a pattern that is none still names itself", []string{"[x"}, "[x", true},
		{"a pattern that is none covers nothing", []string{"[x"}, "x", false},
		{"nothing is served without models", nil, "gpt-x", false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if _, got := server(t, upstream.Spec{Models: tt.models}).Match(tt.model); got != tt.want {
				t.Errorf("Match(%q) in %v = %v, want %v", tt.model, tt.models, got, tt.want)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	spec := func(name string, speaks upstream.Speaks, models ...string) *upstream.Upstream {
		return server(t, upstream.Spec{Name: mooring.UpstreamName(name), Speaks: speaks, Models: models})
	}
	f := upstream.NewFleet([]*upstream.Upstream{
		spec("all", upstream.SpeaksBoth, "*"), spec("gpt", upstream.SpeaksOpenAI, "gpt-*"), spec("mini", upstream.SpeaksOpenAI, "gpt-x-mini*", "o*"),
		spec("exact", upstream.SpeaksOpenAI, "gpt-x-mini"), spec("second", upstream.SpeaksBoth, "gpt-*"), spec("claude", upstream.SpeaksAnthropic, "*"),
	})
	for _, tt := range []struct {
		rule  string
		p     mooring.Protocol
		model string
		want  []string
	}{
		{"an exact name beats every glob", mooring.Chat, "gpt-x-mini", []string{"exact"}},
		{"a longer glob beats a shorter one", mooring.Chat, "gpt-x-mini-2", []string{"mini"}},
		{"equal globs are candidates together, in the order of the configuration", mooring.Chat, "gpt-y", []string{"gpt", "second"}},
		{"a star is what is left", mooring.Chat, "llama", []string{"all"}},
		{"who does not speak the protocol is none, however well it matches", mooring.Messages, "gpt-x-mini", []string{"second"}},
		{"equal stars of those who speak it", mooring.Messages, "claude-y", []string{"all", "claude"}},
		{"responses are OpenAI's", mooring.Responses, "gpt-x-mini", []string{"exact"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, u := range f.Candidates(tt.p, tt.model) {
				got = append(got, string(u.Name))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Candidates(%s, %s) (-want +got):\n%s", tt.p, tt.model, diff)
			}
		})
	}
	if f.Get("exact") == nil || f.Get("none") != nil {
		t.Error("Get does not find by name")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{ // origin, server
		"http://127.0.0.1:8642":       {"http://127.0.0.1:8642", "http://127.0.0.1:8642"},
		"http://127.0.0.1:8642/":      {"http://127.0.0.1:8642", "http://127.0.0.1:8642"},
		"https://Api.Example.com/API": {"https://Api.Example.com", "https://api.example.com/API"},
	} {
		u := server(t, upstream.Spec{URL: url})
		if got := [2]string{u.Origin(), u.Server()}; got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	if _, err := upstream.New(upstream.Spec{URL: "http://[::1"}); err == nil {
		t.Error("an address that is none was taken")
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{Accounts: []upstream.Account{{Name: "a", Key: "ka"}, {Name: "b", Key: "kb"}}})
	for name, want := range map[mooring.AccountName]mooring.Secret{"b": "kb", "a": "ka", "gone": "ka", "": "ka"} {
		if got := u.Account(name); got.Key != want {
			t.Errorf("Account(%q) = %s, want another key", name, got.Name)
		}
	}
	if got := u.Secrets(); !slices.Equal(got, []mooring.Secret{"ka", "kb"}) {
		t.Errorf("%d secrets, want both", len(got))
	}
	if got := server(t, upstream.Spec{}).Account("a"); got != (upstream.Account{}) {
		t.Errorf("Account of a server without one = %s", got.Name)
	}
}

// builtin answers without a network.
type builtin struct{}

func (builtin) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody}, nil
}

func TestBuiltin(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{Speaks: upstream.SpeaksOpenAI, Builtin: builtin{}})
	if !u.Understands(mooring.Messages) || u.Base.Host == "" {
		t.Errorf("understands = %v, host = %q", u.Understands(mooring.Messages), u.Base.Host)
	}
	res, err := u.RoundTrip(&http.Request{})
	if err != nil || res.StatusCode != http.StatusTeapot {
		t.Errorf("RoundTrip = %v, %v", res, err)
	}
	res.Body.Close()
}

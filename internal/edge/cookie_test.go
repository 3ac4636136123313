//nolint:tparallel // the steps of a test share one edge and go one after the other
package edge_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const sid, pid, bid = "hermes_chat_session", "hermes_chat_profile", "__Host-mooring_slot"

// bound gives the binding cookie of who has a slot.
func bound(t *testing.T, r *rig, who string) string {
	t.Helper()
	a := r.send(as(who, "GET", "/"))
	a.want(t, http.StatusOK)
	r.take()
	c := cookiesOf(a)[bid]
	if c == nil || !c.HttpOnly || !c.Secure || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
		t.Fatalf("T2.3-9 the binding of %s is %v", who, c)
	}
	return bid + "=" + c.Value
}

func TestCookiesToTheSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.claimed(t, "alice")
	bind := bound(t, r, "alice")
	s, p := sid+"="+goodSession("a"), pid+"="+goodProfile("work")
	for _, row := range []struct {
		name  string
		lines []string // Cookie lines besides the binding
		want  []string // the slot's one Cookie line
		ends  []string // cookies that the browser is told to forget
	}{
		{"T-17 the two", []string{s + "; " + p}, []string{s + "; " + p}, nil},
		{"T-17 the two in two lines, in another order", []string{p, s}, []string{s + "; " + p}, nil},
		{"T-17 one of them", []string{p}, []string{p}, nil},
		{"T-17 none", []string{"a=b; _oauth2_proxy_0=x"}, nil, nil},
		{"T-17 2.1 the proxy's cookies stay behind", []string{"_oauth2_proxy=x; " + s + "; _oauth2_proxy_csrf_1=y; GAESA=z"}, []string{s}, nil},
		{"T-17 R12 eight KiB of them too", []string{"_oauth2_proxy_0=" + strings.Repeat("x", 4000) + "; _oauth2_proxy_1=" + strings.Repeat("y", 4000) + "; " + s}, []string{s}, nil},
		{"T2.3-8 2.5-59 a name twice in one line", []string{s + "; " + p + "; " + sid + "=" + goodSession("b")}, []string{p}, []string{sid}},
		{"T2.3-8 2.5-59 a name twice in two lines", []string{s, p, s}, []string{p}, []string{sid}},
		{"T2.3-8 2.5-59 three times", []string{s, s, s}, nil, []string{sid}},
		{"T2.3-8 2.5-59 a bad one before the good one", []string{sid + "=x; " + s}, nil, []string{sid}},
		{"T2.3-8 2.5-59 the bare name before it", []string{sid + "; " + s}, nil, []string{sid}},
		{"T2.3-8 2.5-69 a profile that nobody has signed", []string{s + "; " + pid + "=other"}, []string{s}, []string{pid}},
		{"T2.3-8 a profile with a capital", []string{pid + "=" + goodProfile("Work")}, nil, []string{pid}},
		{"T2.3-8 a session that is too short", []string{sid + "=" + strings.Repeat("a", 63) + "." + strings.Repeat("0", 64)}, nil, []string{sid}},
		{"T2.3-8 a session with something behind it", []string{s + "x"}, nil, []string{sid}},
		{"T2.3-8 in quotes", []string{sid + `="` + goodSession("a") + `"`}, nil, []string{sid}},
		{"T2.3-8 a name in capitals is another one", []string{"HERMES_CHAT_SESSION=" + goodSession("a")}, nil, nil},
		{"T2.3-8 a name with a prefix is another one", []string{"x" + s + "; $Version=1; __Host-" + s}, nil, nil},
		{"T2.3-8 a space before the equals sign", []string{sid + " =" + goodSession("a")}, nil, nil},
		{"T2.3-8 an invisible byte in front", []string{"\xa0" + s}, nil, nil},
		{"T2.3-8 a comma does not separate", []string{"a=b, " + s}, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := []string{"Cookie: " + bind}
			for _, line := range row.lines {
				lines = append(lines, "Cookie: "+line)
			}
			a := r.send(as("alice", "GET", "/", lines...))
			a.want(t, http.StatusOK)
			if got := r.one(t).values("Cookie"); !slices.Equal(got, row.want) {
				t.Errorf("the slot saw %q, want %q", got, row.want)
			}
			for _, name := range []string{sid, pid} {
				c := cookiesOf(a)[name]
				if ended := c != nil && c.MaxAge < 0; ended != slices.Contains(row.ends, name) {
					t.Errorf("%s: %v, want its end: %v", name, a.Header["Set-Cookie"], !ended)
				}
			}
			if a.Header.Get("Clear-Site-Data") != "" {
				t.Errorf("the browser's own data was cleared: %v", a.Header)
			}
		})
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.claimed(t, "alice")
	r.claimed(t, "bob")
	alices, bobs := bound(t, r, "alice"), bound(t, r, "bob")
	two := sid + "=" + goodSession("a") + "; " + pid + "=" + goodProfile("work")
	if alices == bobs {
		t.Fatal("two tenants have one binding")
	}
	for _, row := range []struct{ name, who, cookies string }{
		{"T2.3-9 2.5-16 cookies without a binding", "alice", two},
		{"T2.3-9 2.5-16 R6 R15 somebody else's cookies and binding", "bob", alices + "; " + two},
		{"T2.3-9 2.5-28 a binding that is made up", "alice", bid + "=" + strings.Repeat("A", 43) + "; " + two},
		{"T2.3-9 2.5-28 an empty binding", "alice", bid + "=; " + two},
		{"T2.3-9 2.5-59 two bindings, one of them right", "alice", alices + "; " + bobs + "; " + two},
		{"T2.3-9 the right one twice", "alice", alices + "; " + alices + "; " + two},
	} {
		t.Run(row.name, func(t *testing.T) {
			for target, page := range map[string]bool{"/": true, "/api/session?session_id=x": false, "/static/a.js": false} {
				a := r.send(as(row.who, "GET", target, "Cookie: "+row.cookies))
				a.want(t, http.StatusOK)
				if got := r.one(t).values("Cookie"); len(got) > 0 {
					t.Errorf("%s: the slot saw %q", target, got)
				}
				got := cookiesOf(a)
				if got[sid] == nil || got[sid].MaxAge >= 0 || got[pid] == nil || got[pid].MaxAge >= 0 || got[bid] == nil || got[bid].MaxAge <= 0 {
					t.Errorf("%s: cookies %q, want an end to the two and a new binding", target, a.Header["Set-Cookie"])
				}
				if cleared := a.Header.Get("Clear-Site-Data") == `"cache", "storage"`; cleared != page {
					t.Errorf("%s: Clear-Site-Data %q", target, a.Header.Get("Clear-Site-Data"))
				}
			}
		})
	}
}

func TestCookiesFromTheSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	bind := "Cookie: " + bound(t, r, "alice")
	good, work := goodSession("a"), goodProfile("work")
	attrs := "; Path=/; HttpOnly; Secure; SameSite=Lax"
	for _, row := range []struct {
		name       string
		sent, want []string
	}{
		{"T-19 F5 the profile lasts as long as the session", []string{sid + "=" + good + "; Path=/; Max-Age=100", pid + "=" + work + "; Path=/x; SameSite=None; Domain=example.org"}, []string{sid + "=" + good + "; Path=/; Max-Age=100; HttpOnly; Secure; SameSite=Lax", pid + "=" + work + "; Path=/; Max-Age=100; HttpOnly; Secure; SameSite=Lax"}},
		{"T-19 F5 in the other order too", []string{pid + "=" + work, sid + "=" + good + "; Max-Age=100"}, []string{sid + "=" + good + "; Path=/; Max-Age=100; HttpOnly; Secure; SameSite=Lax", pid + "=" + work + "; Path=/; Max-Age=100; HttpOnly; Secure; SameSite=Lax"}},
		{"T-19 F5 and as long as one that came before", []string{pid + "=" + work}, []string{pid + "=" + work + "; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax"}},
		{"T-19 a session without an age", []string{sid + "=" + good}, []string{sid + "=" + good + attrs}},
		{"T-19 an end", []string{sid + "=; Max-Age=0", pid + "=x; max-age=-1"}, []string{sid + "=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax", pid + "=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax"}},
		{"T-19 values that no web UI gives", []string{sid + "=" + poison, pid + "=other"}, nil},
		{"T-19 other names", []string{"a=b", "HERMES_CHAT_SESSION=" + good, bid + "=x", "__Host-mooring_sso=x", " " + sid + "x=" + good}, nil},
		{"T-19 of two with one name the last", []string{sid + "=" + goodSession("b"), sid + "=" + good}, []string{sid + "=" + good + attrs}},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := []string{"Content-Type: application/json"}
			for _, line := range row.sent {
				lines = append(lines, "Set-Cookie: "+line)
			}
			s.says(answerOf("200 OK", "{}", lines...))
			for _, target := range []string{"/api/x", "/static/a.js", "/session/a"} {
				a := r.send(as("alice", "GET", target, bind))
				if got := a.Header["Set-Cookie"]; !slices.Equal(got, row.want) {
					t.Errorf("%s: cookies %q, want %q", target, got, row.want)
				}
			}
		})
	}
}

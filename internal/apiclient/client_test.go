package apiclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/apiclient"
)

// clientOf asks a server that answers with h.
func clientOf(t *testing.T, h http.HandlerFunc) *apiclient.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return at(t, server.URL)
}

func at(t *testing.T, address string) *apiclient.Client {
	t.Helper()
	a, err := apiclient.ParseAddress(address, "the test")
	if err != nil {
		t.Fatal(err)
	}
	return &apiclient.Client{Server: a, HTTP: apiclient.Dialer()}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
}

func TestGet(t *testing.T) {
	t.Parallel()
	var asked *http.Request
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		_, _ = w.Write([]byte(`{"id":"ses_1", "turns":2,"unknown":[1]}` + "\n"))
	})
	c.Key, c.Tenant = "mk-secret", "acme"
	c.Server.URL.Path = "/base"
	var s apiclient.Session
	raw, err := c.Get(t.Context(), apiclient.SessionPath("a/b ../c", "tree"), url.Values{"q": {"x&y"}}, &s)
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != "ses_1" || s.Turns != 2 || !strings.Contains(string(raw), `"unknown":[1]`) {
		t.Errorf("Get = %s, %+v, want the session and its JSON as it came", raw, s)
	}
	if want := "/base/api/sessions/a%2Fb%20..%2Fc/tree?q=x%26y&tenant=acme"; asked.RequestURI != want {
		t.Errorf("asked %s, want %s", asked.RequestURI, want)
	}
	if got := asked.Header.Get("Authorization"); got != "Bearer mk-secret" {
		t.Errorf("Authorization = %q, want the key", got)
	}
}

func TestSessionPathKeepsDots(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "%q", r.RequestURI) })
	for _, key := range []string{".", ".."} {
		raw, err := c.Get(t.Context(), apiclient.SessionPath(key), nil, nil)
		if want := `"/api/sessions/` + strings.ReplaceAll(key, ".", "%2E") + `"`; err != nil || string(raw) != want {
			t.Errorf("the session %q was asked for at %s (%v), want %s", key, raw, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const key = "mk-secret"
	for _, row := range []struct {
		rule   string
		key    mooring.Secret
		answer http.HandlerFunc
		path   string
		status int
		code   mooring.Code
		says   string
	}{
		{"no key: which variable", "", func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 401, "invalid_api_key", "Send a key.")
		}, "/api/sessions", 401, "invalid_api_key", "Send a key. Put a key of this server into MOORING_KEY, or give it with --key."},
		{"a wrong key", key, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 401, "invalid_api_key", "Send another.")
		}, "/api/sessions", 401, "invalid_api_key", "Send another. The key from --key or MOORING_KEY is none of this server's, or no longer."},
		{"no such session: what lists them", key, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 404, "session_not_found", "No such session.")
		}, "/api/sessions/x", 404, "session_not_found", "No such session. (`mooring sessions list` shows those there are.)"},
		{"no such turn: what names them", key, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 404, "not_found", "No such turn.")
		}, "/api/turns/x", 404, "not_found", "No such turn. (`mooring sessions show SESSION` names the turns of a session.)"},
		{"the server's own words stand alone", key, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 503, "store_unavailable", "The store is down.")
		}, "/api/sessions", 503, "store_unavailable", "The store is down."},
		{"another's 404", key, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", 404)
		}, "/api/sessions", 404, "", "answered with 404 Not Found: no Mooring"},
		{"a redirect is not followed", key, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, "/api/sessions", 302, "", "answered with 302 Found: no Mooring"},
		{"no JSON", key, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, "/api/sessions", 200, "", "with something that is no JSON"},
		{"JSON of another shape", key, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"id":[]}`))
		}, "/api/sessions", 200, "", "with JSON of another shape"},
		{"an answer that breaks off", key, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{`))
		}, "/api/sessions", 0, "", "broke off in the middle"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			c := clientOf(t, row.answer)
			c.Key = row.key
			_, err := c.Get(t.Context(), row.path, nil, &apiclient.Session{})
			e, ok := errors.AsType[*apiclient.Error](err)
			if !ok || e.Status != row.status || e.Code != row.code || !strings.Contains(e.Error(), row.says) {
				t.Fatalf("Get = %#v, want %d %q with %q", err, row.status, row.code, row.says)
			}
			if strings.Contains(e.Error(), key) {
				t.Errorf("the error holds the key: %v", e)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := at(t, server.URL).Get(t.Context(), "/api/sessions", nil, nil)
	want := "no server at " + server.URL + " (address from the test): connect: connection refused; " +
		"start one with `mooring serve`, or name another with --server"
	if err == nil || err.Error() != want {
		t.Errorf("Get = %v, want %s", err, want)
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestCopy(t *testing.T) {
	t.Parallel()
	whole := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a\nb\n")) })
	var out bytes.Buffer
	if err := whole.Copy(t.Context(), &out, "/x", nil); err != nil || out.String() != "a\nb\n" {
		t.Errorf("Copy = %q, %v, want the body", out.String(), err)
	}
	if err := whole.Copy(t.Context(), full{}, "/x", nil); !errors.Is(err, errFull) {
		t.Errorf("Copy into a full disk = %v, want the writer's error", err)
	}
	torn := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a\n"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, ok := errors.AsType[*apiclient.Error](torn.Copy(t.Context(), &out, "/x", nil))
	if !ok {
		t.Error("Copy of an answer that breaks off gives no error")
	}
}

// pages is a server with n sessions, ses_…0000 the newest.
func pages(n int, asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		*asked = append(*asked, r.URL.Path+"?"+q.Encode())
		if r.URL.Path != "/api/sessions" {
			refuse(w, 404, "session_not_found", "No such session.")
			return
		}
		from, size := 0, 0
		_, _ = fmt.Sscan(q.Get("cursor"), &from)
		_, _ = fmt.Sscan(q.Get("limit"), &size)
		var rows []string
		for i := from; i < min(n, from+size); i++ {
			rows = append(rows, fmt.Sprintf(`{"id":"ses_01J0000000000000000000%04d","title":"<%d>"}`, i, i))
		}
		next := "null"
		if from+size < n {
			next = fmt.Sprintf(`"%d"`, from+size)
		}
		_, _ = fmt.Fprintf(w, `{"sessions":[%s],"next_cursor":%s,"total":%d}`, strings.Join(rows, ","), next, n)
	}
}

func TestSessionsFollowsCursors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule           string
		there, limit   int
		want, requests int
		next           bool
	}{
		{"one page", 5, 20, 5, 1, false},
		{"no more than asked for", 50, 20, 20, 1, true},
		{"beyond a page of the server's", 450, 250, 250, 2, true},
		{"everything", 450, apiclient.Everything, 450, 3, false},
		{"nothing there", 0, apiclient.Everything, 0, 1, false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			var asked []string
			list, err := clientOf(t, pages(row.there, &asked)).Sessions(t.Context(), url.Values{"q": {"x"}}, row.limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Sessions) != row.want || len(list.Raw) != row.want || len(asked) != row.requests || (list.Next != nil) != row.next {
				t.Errorf("Sessions = %d (next %v) with %d requests, want %d (next %t) with %d",
					len(list.Sessions), list.Next, len(asked), row.want, row.next, row.requests)
			}
			for _, uri := range asked {
				if !strings.Contains(uri, "q=x") {
					t.Errorf("%s forgets the filter", uri)
				}
			}
		})
	}
}

func TestSessionsWithoutEnd(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"sessions":[{"id":"ses_1"}],"next_cursor":"again","total":1}`))
	})
	if _, err := c.Sessions(t.Context(), nil, apiclient.Everything); err == nil || !strings.Contains(err.Error(), "has no end") {
		t.Errorf("Sessions of a server that repeats itself = %v, want an error", err)
	}
}

func TestSessionListJSON(t *testing.T) {
	t.Parallel()
	var asked []string
	for n, want := range []string{
		`{"sessions":[],"next_cursor":null,"total":0}`,
		`{"sessions":[{"id":"ses_01J00000000000000000000000","title":"<0>"}],"next_cursor":null,"total":1}`,
	} {
		list, err := clientOf(t, pages(n, &asked)).Sessions(t.Context(), nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		got, err := list.JSON()
		if diff := cmp.Diff(want+"\n", string(got)); err != nil || diff != "" {
			t.Errorf("JSON (%v, -want +got):\n%s", err, diff)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, name, want string
		code             mooring.Code
		requests         int
	}{
		{"a key is left alone", "talk", "talk", "", 0},
		{"a whole id too", "ses_01J00000000000000000000003", "ses_01J00000000000000000000003", "", 0},
		{"a short id is made whole", "ses_00000203", "ses_01J00000000000000000000203", "", 3},
		{"one that nothing has", "ses_ABCDEFGH", "", mooring.CodeSessionNotFound, 3},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			var asked []string
			got, err := clientOf(t, pages(300, &asked)).Resolve(t.Context(), row.name)
			var code mooring.Code
			if e, ok := errors.AsType[*apiclient.Error](err); ok {
				code = e.Code
			}
			if got != row.want || code != row.code || len(asked) != row.requests {
				t.Errorf("Resolve(%s) = %q, %v with %d requests, want %q, %q with %d", row.name, got, err, len(asked), row.want, row.code, row.requests)
			}
		})
	}
}

func TestResolveRefusesWhatIsAmbiguous(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/sessions" {
			refuse(w, 404, "session_not_found", "No such session.")
			return
		}
		_, _ = w.Write([]byte(`{"sessions":[{"id":"ses_01AAAAAAAAAAAAAAAA00000001"},{"id":"ses_01BBBBBBBBBBBBBBBB00000001"}],"next_cursor":null,"total":2}`))
	})
	got, err := c.Resolve(t.Context(), "ses_00000001")
	if err == nil || !strings.Contains(err.Error(), "several sessions: ses_01AAAAAAAAAAAAAAAA00000001, ses_01B") {
		t.Errorf("Resolve = %q, %v, want the names of both", got, err)
	}
}

func TestResolveTakesAKeyOfThatShape(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) })
	if got, err := c.Resolve(t.Context(), "ses_abcdefgh"); err != nil || got != "ses_abcdefgh" {
		t.Errorf("Resolve = %q, %v, want the key as it is", got, err)
	}
}

func TestLastTurn(t *testing.T) {
	t.Parallel()
	body := `{"turns":[{"id":"trn_1","started_at":"2026-11-29T09:01:00Z"},{"id":"trn_2","started_at":"2026-11-29T09:02:00Z","x":1}]}`
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	turn, raw, err := c.LastTurn(t.Context(), "talk")
	if err != nil || turn.ID != "trn_2" || !strings.Contains(string(raw), `"x":1`) {
		t.Errorf("LastTurn = %s, %s, %v, want trn_2 as it came", turn.ID, raw, err)
	}
	none := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"turns":[]}`)) })
	if _, _, err := none.LastTurn(t.Context(), "talk"); err == nil || !strings.Contains(err.Error(), "no turn yet") {
		t.Errorf("LastTurn without turns = %v, want words for it", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	var asked string
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI
		w.WriteHeader(http.StatusNoContent)
	})
	if err := c.Delete(t.Context(), apiclient.SessionPath("talk")); err != nil || asked != "DELETE /api/sessions/talk" {
		t.Errorf("Delete asked %q (%v), want DELETE /api/sessions/talk", asked, err)
	}
}

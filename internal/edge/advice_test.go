//nolint:tparallel // the steps of a test share one edge and go one after the other
package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"mooring/internal/edge"
	"mooring/internal/issuertest"
	"mooring/internal/openid"
)

func TestWrongHostLeadsHome(t *testing.T) {
	t.Parallel()
	proxied := newRig(t, 1)
	own, _ := loginRig(t, 1)
	for _, row := range []struct {
		r    *rig
		link string
	}{{proxied, `href="//` + host + `/"`}, {own, `href="https://` + host + `/"`}} {
		a := row.r.send(wire("GET", "/session/"+poison, "Host: 127.0.0.1:4748"))
		a.refused(t, http.StatusMisdirectedRequest, "host_forbidden")
		if !strings.Contains(string(a.body), row.link) {
			t.Errorf("the page lacks %s:\n%s", row.link, a.body)
		}
	}
	if b := proxied.send(as("alice", "GET", "/share")); !strings.Contains(string(b.body), `href="/"`) {
		t.Errorf("another page leads elsewhere: %s", b.body)
	}
}

// What only the operator can mend is not left to the person who signs in: the page says whom to ask, and the log what to look at.
func TestTroubleOfTheOperator(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 1)
	t.Run("a client that the provider does not take", func(t *testing.T) {
		wrong := newRig(t, 1, func(o *edge.Options) {
			o.Login = &edge.LoginOptions{
				Provider: openid.New(openid.Options{
					Issuer: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.Secret + "\n", RedirectURI: "https://" + host + "/oauth2/callback", Now: o.Now,
				}),
				Issuer: i.URL, ClientID: issuertest.ClientID, Secret: []byte("a secret that seals what is kept"),
			}
		})
		b := newBrowser(wrong)
		a := b.get(b.begin(t, i, "/", claims{"sub": "alice"}))
		a.refused(t, http.StatusBadGateway, "upstream_error")
		if b.jar[sso] != "" || !strings.Contains(string(a.body), "ask whoever runs this server") || strings.Contains(string(a.body), "begin it again") {
			t.Errorf("cookies %v, page %s", b.jar, a.body)
		}
		if log := wrong.log.String(); !strings.Contains(log, "client_secret") || !strings.Contains(log, "invalid_client") || strings.Contains(log, issuertest.Secret) {
			t.Errorf("the log does not say what to look at:\n%s", log)
		}
	})
	t.Run("a subject that cannot be one", func(t *testing.T) {
		b := newBrowser(r)
		a := b.get(b.begin(t, i, "/", claims{"sub": "idp|" + poison}))
		a.refused(t, http.StatusUnauthorized, "identity_required")
		if !strings.Contains(string(a.body), "ask whoever runs this server") {
			t.Errorf("the page: %s", a.body)
		}
		if log := r.log.String(); !strings.Contains(log, "`sub`") || strings.Contains(log, poison) {
			t.Errorf("the log:\n%s", log)
		}
	})
	t.Run("a provider that says no", func(t *testing.T) {
		b := newBrowser(r)
		b.get(b.begin(t, i, "/", claims{"sub": "alice"})+"&error=invalid_scope").refused(t, http.StatusBadRequest, "bad_request")
		b.get(b.begin(t, i, "/", claims{"sub": "alice"})+"&error="+poison).refused(t, http.StatusBadRequest, "bad_request")
		if log := r.log.String(); !strings.Contains(log, "ended the sign-in: invalid_scope") || strings.Contains(log, poison) {
			t.Errorf("the log:\n%s", log)
		}
	})
}

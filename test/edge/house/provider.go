package house

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// What the edge, or the login proxy before it, is called at the provider, and its secret.
const (
	ClientID     = "chat"
	ClientSecret = "the-secret-of-chat"
)

const callback = "/oauth2/callback"

// Provider is the example provider of github.com/zitadel/oidc, with its own login page and people. Every login asks for a name and a password.
type Provider struct {
	Issuer string
	People [2]Person

	origin string
	store  *storage.Storage
	now    func() time.Time
	ended  atomic.Int64
	http.Handler
}

func newProvider(addr net.Addr, o Options) (*Provider, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, err
	}
	p := &Provider{Issuer: "http://localhost:" + port + "/", origin: o.Origin, now: o.Now}
	users := storage.NewUserStore(p.Issuer)
	for i, subject := range []string{"id1", "id2"} {
		user := users.GetUserByID(subject)
		if user == nil {
			return nil, fmt.Errorf("the provider does not know %s", subject)
		}
		p.People[i] = Person{Name: user.Username, Password: user.Password, Subject: user.ID}
	}
	clients := map[string]*storage.Client{ClientID: storage.WebClient(ClientID, ClientSecret, o.Origin+callback)}
	p.store = storage.NewStorageWithClients(users, clients)
	p.Handler = exampleop.SetupServer(p.Issuer, &returning{p.store, o.Origin + "/", &p.ended}, slog.New(slog.DiscardHandler), false)
	return p, nil
}

// returning is a store whose clients may have browsers sent back to them after a logout, which the example's own may not.
type returning struct {
	*storage.Storage
	to    string
	ended *atomic.Int64
}

// TerminateSession ends what a person has at a client.
func (r *returning) TerminateSession(ctx context.Context, subject, clientID string) error {
	r.ended.Add(1)
	return r.Storage.TerminateSession(ctx, subject, clientID)
}

// GetClientByClientID gives the client.
func (r *returning) GetClientByClientID(ctx context.Context, id string) (op.Client, error) { //nolint:ireturn // as the library has it
	c, err := r.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &client{c, r.to}, nil
}

type client struct {
	op.Client
	to string
}

// PostLogoutRedirectURIs are where a browser may be sent after a logout.
func (c *client) PostLogoutRedirectURIs() []string { return []string{c.to} }

// LogoutToken says, signed, that a person has signed out at the provider (OpenID Connect Back-Channel Logout 1.0, section 2.4). The example
// provider does not send such tokens by itself.
func (p *Provider) LogoutToken(ctx context.Context, subject string) (string, error) {
	key, err := p.store.SigningKey(ctx)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: key.SignatureAlgorithm(), Key: jose.JSONWebKey{Key: key.Key(), KeyID: key.ID()}},
		(&jose.SignerOptions{}).WithType("logout+jwt"))
	if err != nil {
		return "", err
	}
	now := p.now()
	return jwt.Signed(signer).Claims(map[string]any{
		"iss": p.Issuer, "aud": ClientID, "sub": subject, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}).Serialize()
}

// Ended is how many logouts of people the provider has seen.
func (p *Provider) Ended() int64 { return p.ended.Load() }

// SignOut tells the edge that a person has signed out at the provider.
func (p *Provider) SignOut(ctx context.Context, subject string) error {
	token, err := p.LogoutToken(ctx, subject)
	if err != nil {
		return err
	}
	form := strings.NewReader(url.Values{"logout_token": {token}}.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.origin+"/oauth2/backchannel-logout", form)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)); res.StatusCode != http.StatusOK {
		return fmt.Errorf("the edge answered the logout token with %d %s", res.StatusCode, said)
	}
	return nil
}

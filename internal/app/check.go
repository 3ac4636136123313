package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/price"
	"mooring/internal/telemetry"
)

// checkTimeout is how long one upstream may take to answer a check.
const checkTimeout = 5 * time.Second

// CheckDeps is what a check reaches the world with.
type CheckDeps struct {
	// Client asks the upstreams; redirects are not followed, whatever it says.
	Client *http.Client
	// Store opens the store, reads from it and closes it. Nil leaves the store out.
	Store func(ctx context.Context, cfg config.Config) (StoreFindings, error)
}

// StoreFindings is what a check reads from the store.
type StoreFindings struct {
	Stray   int                                // rows that belong to no tenant
	Drained map[mooring.UpstreamName]time.Time // upstreams that take no new sessions, and since when
	Claims  []mooring.Claim                    // who has which slot of the tenant edge, where one is configured
}

// Check says on one line each what is fine and what is not; it gives false where something is not.
func Check(ctx context.Context, cfg config.Config, deps CheckDeps, out io.Writer) bool {
	c := checker{cfg: cfg, deps: deps, client: unredirected(deps.Client), out: out, fine: true, lists: lists{}}
	c.configuration()
	c.store(ctx)
	c.collector(ctx)
	for _, u := range cfg.Upstreams {
		c.upstream(ctx, u)
		if since, drained := c.drained[u.Name]; drained {
			c.note("upstream %s: drained since %s, takes no new sessions", u.Name, since.UTC().Format(time.RFC3339))
		}
	}
	c.models()
	c.edge(ctx)
	switch {
	case !c.fine:
		_, _ = fmt.Fprintln(out, "not ok: see the lines that begin with FAIL")
	case c.warned:
		c.ok("everything checked works; see the lines that begin with WARN")
	default:
		c.ok("everything checked is fine")
	}
	return c.fine
}

type checker struct {
	cfg    config.Config
	deps   CheckDeps
	client *http.Client
	out    io.Writer
	fine   bool
	warned bool

	drained map[mooring.UpstreamName]time.Time // as the store says
	claims  []mooring.Claim                    // as well
	lists   lists                              // as the upstreams answer
}

func (c *checker) ok(format string, args ...any)   { c.line("ok  ", format, args...) }
func (c *checker) note(format string, args ...any) { c.line("note", format, args...) }

// warn is for what works as configured, and hardly can be meant so.
func (c *checker) warn(format string, args ...any) {
	c.warned = true
	c.line("WARN", format, args...)
}

func (c *checker) fail(format string, args ...any) {
	c.fine = false
	c.line("FAIL", format, args...)
}

func (c *checker) line(mark, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	_, _ = fmt.Fprintln(c.out, mark, text)
}

func (c *checker) configuration() {
	if c.cfg.Found {
		c.ok("configuration %s", c.cfg.Path)
	} else {
		c.ok("configuration: no file, defaults")
	}
	listed := price.Published()
	c.ok("prices: %d models as of %s (%s), %d configured", listed.Models, listed.Date, listed.Name, len(c.cfg.Prices))
	switch {
	case c.cfg.Open() && c.cfg.Edge != nil:
		c.warn("keys: none, so whoever reaches %s is an operator and can take the edge's slots from people; "+
			"make a key: `mooring keys create --name NAME --role operator --write`", c.cfg.Listen)
	case c.cfg.Open():
		c.note("keys: none, whoever reaches %s may use it", c.cfg.Listen)
	}
}

func (c *checker) store(ctx context.Context) {
	if c.deps.Store == nil {
		c.note("store %s: not checked", c.cfg.Store)
		return
	}
	found, err := c.deps.Store(ctx, c.cfg)
	c.drained, c.claims = found.Drained, found.Claims
	switch {
	case err != nil:
		c.fail("store %s: %v", c.cfg.Store, err)
	case found.Stray > 0:
		c.fail("store %s: %d rows belong to no tenant and nobody can read them", c.cfg.Store, found.Stray)
	default:
		c.ok("store %s", c.cfg.Store)
	}
}

func (c *checker) collector(ctx context.Context) {
	to := c.cfg.Telemetry.OTLP
	if to == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := telemetry.TryCollector(ctx, to.Reveal()); err != nil {
		c.fail("telemetry.otlp: %s takes no traces: %s", to, reason(err))
		return
	}
	c.ok("telemetry.otlp: %s takes traces", to)
}

func (c *checker) upstream(ctx context.Context, u config.Upstream) {
	if u.Builtin != "" {
		c.ok("upstream %s: built in", u.Name)
		return
	}
	if u.State == config.StateRemote && len(u.Keys) == 0 && (u.SendsNone() || u.ForwardsClient()) {
		c.note("upstream %s: without a key of its own a Hermes gateway refuses session headers; set `key`", u.Name)
	}
	if u.Health != "" {
		c.ask(ctx, probe{u: u, label: string(u.Name), path: u.Health})
	}
	if len(u.Keys) == 0 {
		c.ask(ctx, probe{u: u, label: string(u.Name), path: "/v1/models", key: ownKey(u)})
	}
	for _, account := range u.Keys {
		c.ask(ctx, probe{u: u, label: fmt.Sprintf("%s (account %s)", u.Name, account.Name), path: "/v1/models", key: account.Key})
	}
}

// ownKey gives Mooring's own credential at an upstream, nothing where it has none.
func ownKey(u config.Upstream) mooring.Secret {
	if u.SendsNone() || u.ForwardsClient() {
		return ""
	}
	return u.Key
}

// probe is one question to an upstream.
type probe struct {
	u     config.Upstream
	label string
	path  string
	key   mooring.Secret
}

func (c *checker) ask(ctx context.Context, p probe) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	path := p.path
	if path != p.u.Health && p.u.Protocol == config.ProtocolAnthropic {
		path += "?limit=1000" // a page holds 20 else
	}
	resp, err := get(ctx, c.client, p.u.URL+path, p.u, p.key)
	if err != nil {
		c.fail("upstream %s: %s does not answer: %s", p.label, p.u.Origin(), reason(err))
		return
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	switch status := resp.StatusCode; {
	case status < 300:
		c.ok("upstream %s: %s%s answers %d%s", p.label, p.u.Origin(), p.path, status, c.counted(p, resp.Body))
	case status < 400:
		c.fail("upstream %s: %s redirects (%d), and redirects are not followed; give the final url", p.label, p.u.Origin(), status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		c.refused(p, status)
	case status == http.StatusNotFound && p.path != p.u.Health:
		c.ok("upstream %s: %s is reachable and lists no models (404)", p.label, p.u.Origin())
	default:
		c.fail("upstream %s: %s%s answers %d", p.label, p.u.Origin(), p.path, status)
	}
}

func (c *checker) refused(p probe, status int) {
	switch {
	case p.key != "":
		c.fail("upstream %s: %s refuses the configured key (%d)", p.label, p.u.Origin(), status)
	case p.u.ForwardsClient():
		c.ok("upstream %s: %s is reachable and wants the client's own credential (%d)", p.label, p.u.Origin(), status)
	case p.path == p.u.Health && !p.u.SendsNone():
		c.note("upstream %s: %s%s wants a credential (%d), health checks send none", p.label, p.u.Origin(), p.path, status)
	default:
		c.fail("upstream %s: %s wants a credential (%d) and gets none; set `key`", p.label, p.u.Origin(), status)
	}
}

// counted says how many models a list names; nothing where it is no list. What one account does not have another one may.
func (c *checker) counted(p probe, body io.Reader) string {
	if p.path == p.u.Health {
		return ""
	}
	ids, ok := modelIDs(body)
	if !ok {
		return ""
	}
	c.lists[p.u.Name] = append(c.lists[p.u.Name], ids...)
	return fmt.Sprintf(", %d models", len(ids))
}

// reason shortens an error of the transport to what a person can act on.
func reason(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + checkTimeout.String()
	case errors.As(err, &dns):
		return "the host name is not known"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

func unredirected(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

package app

import (
	"context"
	"net/http"
	"time"

	"mooring/internal/config"
	"mooring/internal/edge"
	"mooring/internal/openid"
)

// edge says whether the tenant edge's web UIs answer, and whether the identity provider can be found.
func (c *checker) edge(ctx context.Context) {
	e := c.cfg.Edge
	if e == nil {
		return
	}
	if n := edge.UnderOtherSalt(c.claims, edge.KeyIDOf([]byte(e.Salt.Reveal()))); n > 0 {
		c.warn("edge: slots claimed under another `salt`: %d; their tenants cannot come back to them, and nobody else gets them; "+
			"use that salt again, or free them with `mooring tenants release`", n)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if e.Identity.Source != config.SourceForwarded {
		p := openid.New(openid.Options{Issuer: e.Identity.Issuer, ClientID: e.Identity.ClientID, Now: time.Now})
		if err := p.Find(ctx); err != nil {
			c.fail("edge: the identity provider at %s: %s", e.Identity.Issuer, reason(err))
		} else {
			c.ok("edge: the identity provider at %s", e.Identity.Issuer)
		}
	}
	for _, s := range e.Slots {
		c.slot(ctx, s)
	}
}

// slot asks a web UI how it is. It asks without a cookie, so that no session of anybody's is touched.
func (c *checker) slot(ctx context.Context, s config.Slot) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/health", http.NoBody)
	if err != nil {
		c.fail("slot %s: %s", s.Name, reason(err))
		return
	}
	res, err := c.client.Do(req)
	if err != nil {
		c.fail("slot %s at %s: %s", s.Name, s.URL, reason(err))
		return
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.fail("slot %s at %s: GET /health was answered %d", s.Name, s.URL, res.StatusCode)
		return
	}
	c.ok("slot %s at %s", s.Name, s.URL)
}

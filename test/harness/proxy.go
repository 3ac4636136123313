package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy stands between two programs; the connections through it can be cut, slowed down and held up.
type Proxy struct {
	Addr string

	toxi *toxiproxy.Proxy
}

// NewProxy listens for what goes to an address.
func (s *Stage) NewProxy(name, to string) (*Proxy, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics bring a logger of their own
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", to)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("start proxy %s: %w", name, err)
	}
	s.Defer(p.Stop)
	return &Proxy{Addr: p.Listen, toxi: p}, nil
}

// Toxic is what happens to the connections.
type Toxic struct {
	Type       string         `json:"type"`   // of toxiproxy: latency, timeout, reset_peer, bandwidth, slicer
	Stream     string         `json:"stream"` // upstream or downstream
	Attributes map[string]any `json:"attributes"`
}

// String says the toxic in a few words.
func (t Toxic) String() string {
	attributes, err := json.Marshal(t.Attributes)
	if err != nil {
		return t.Type
	}
	return fmt.Sprintf("%s of %s %s", t.Type, t.Stream, attributes)
}

// Poison adds a toxic.
func (p *Proxy) Poison(t Toxic) error {
	b, err := json.Marshal(t)
	if err == nil {
		_, err = p.toxi.Toxics.AddToxicJson(strings.NewReader(string(b)))
	}
	if err != nil {
		return fmt.Errorf("add toxic %s: %w", t, err)
	}
	return nil
}

// Heal takes all toxics away and listens again.
func (p *Proxy) Heal(ctx context.Context) error {
	p.toxi.Toxics.ResetToxics(ctx)
	return p.Up()
}

// Down cuts every connection and refuses new ones.
func (p *Proxy) Down() { p.toxi.Stop() }

// Up listens again, on the same address.
func (p *Proxy) Up() error {
	p.toxi.Lock()
	on := p.toxi.Enabled
	p.toxi.Unlock()
	if on {
		return nil
	}
	if err := p.toxi.Start(); err != nil {
		return fmt.Errorf("start proxy again: %w", err)
	}
	return nil
}

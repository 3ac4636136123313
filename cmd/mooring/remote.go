package main

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"mooring"
	"mooring/internal/apiclient"
	"mooring/internal/config"
	"mooring/internal/console"
)

// remote is what a command needs to talk to a running server.
type remote struct {
	Server string         `help:"Address of the server; MOORING_LISTEN or the configured listen where left out." placeholder:"URL"`
	Key    mooring.Secret `help:"Client key; better put it into MOORING_KEY, which others on this machine cannot see." placeholder:"KEY"`
	Tenant mooring.Tenant `help:"Whose sessions, for an operator."                                              placeholder:"NAME"`
	JSON   bool           `help:"As the server's JSON."`
}

var errKey = errors.New("the key from --key or MOORING_KEY holds a character that no key has")

// client finds the server. It does not reach it yet.
func (r remote) client(p program, cli *commands) (*apiclient.Client, error) {
	address, err := r.address(p, cli)
	if err != nil {
		return nil, err
	}
	key := r.Key
	if key == "" {
		value, _ := p.env("MOORING_KEY")
		key = mooring.Secret(strings.TrimSpace(value))
	}
	if strings.ContainsFunc(key.Reveal(), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errKey
	}
	return &apiclient.Client{Server: address, Key: key, Tenant: r.Tenant, HTTP: apiclient.Dialer()}, nil
}

// session finds the session of an id, a short id or a key, for those who ask about one.
func (r remote) session(ctx context.Context, p program, cli *commands, name string) (client *apiclient.Client, id string, err error) {
	if client, err = r.client(p, cli); err != nil {
		return nil, "", err
	}
	id, err = client.Resolve(ctx, name)
	return client, id, err
}

func (r remote) address(p program, cli *commands) (apiclient.Address, error) {
	if r.Server != "" {
		return apiclient.ParseAddress(r.Server, "--server")
	}
	if listen, ok := p.env("MOORING_LISTEN"); ok && listen != "" {
		return apiclient.ParseAddress(listen, "MOORING_LISTEN")
	}
	listen, from, err := config.Address(p.source(cli))
	if err != nil {
		return apiclient.Address{}, err
	}
	return apiclient.ParseAddress(listen, from)
}

// page is for what people read.
func (p program) page() console.Page {
	page := console.Page{Out: p.stdout, Now: time.Now(), Zone: time.Local}
	plain, _ := p.env("NO_COLOR")
	term, _ := p.env("TERM")
	if p.terminal(p.stdout) && plain == "" && term != "dumb" {
		page.Style = console.Coloured()
	}
	return page
}

// query leaves out what is empty.
func query(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"mooring/internal/apiclient"
)

// readyPatience is longer than the server waits for its store before it says that it is not ready.
const readyPatience = 4 * time.Second

// ready asks the running server whether it is to get requests, where its configuration says that it listens.
func (c *checkCommand) ready(ctx context.Context, p program, cli *commands) error {
	address, err := c.listens(p, cli)
	if err != nil {
		return err
	}
	why, err := readiness(ctx, address.URL.JoinPath("readyz"))
	if err != nil {
		return err
	}
	mark, says := "ok  ", "ready"
	if why != "" {
		mark, says = "FAIL", why
	}
	if _, err := fmt.Fprintf(p.stdout, "%s server %s: %s\n", mark, address, says); err != nil {
		return err
	}
	if why != "" {
		return errNotFine
	}
	return nil
}

func (c *checkCommand) listens(p program, cli *commands) (apiclient.Address, error) {
	if c.Listen != "" {
		return apiclient.ParseAddress(c.Listen, "--listen")
	}
	return remote{}.address(p, cli)
}

// readiness gives the reason why the server is not ready; empty where it is.
func readiness(ctx context.Context, at *url.URL) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask for readiness: %w", err)
	}
	client := &http.Client{ // no proxy: it is a server of this machine
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	switch op, lost := errors.AsType[*net.OpError](err); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", readyPatience), nil
	case lost:
		return op.Err.Error(), nil
	case err != nil:
		return "it does not speak HTTP", nil
	}
	defer res.Body.Close() //nolint:errcheck // not read
	if res.StatusCode != http.StatusOK {
		return "not ready (" + res.Status + ")", nil
	}
	return "", nil
}

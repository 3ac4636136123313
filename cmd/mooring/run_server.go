package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/config"
)

// reachTimeout is how long a command waits for the server's first answers, which may hold the lists of slow upstreams.
const reachTimeout = 8 * time.Second

// serverURL gives where the running server is: the flag, else the address that environment or file say it listens on.
func (p program) serverURL(file, flag string) (string, error) {
	if flag == "" {
		cfg, err := config.Load(config.Source{Path: file, Env: p.env})
		if err != nil {
			return "", err
		}
		return "http://" + reachable(cfg.Listen), nil
	}
	if !strings.Contains(flag, "://") {
		flag = "http://" + flag
	}
	u, err := url.Parse(flag)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("--server %q is no address of the form http://HOST:PORT", flag)
	}
	return strings.TrimSuffix(strings.TrimSuffix(flag, "/"), "/v1"), nil
}

// reachable gives an address to call for one to listen on: loopback stands for every interface.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen // no checked configuration comes here
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// server is a running Mooring that clients are pointed at.
type server struct {
	url    string // without a path
	key    mooring.Secret
	models []string
	model  string // to be used; empty for the client's own choice
}

// reach asks the server whether it is there, takes the key, and what it offers.
func reach(ctx context.Context, client *http.Client, at string, key mooring.Secret) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	s := &server{url: at, key: key}
	status, _, err := s.get(ctx, client, "/health")
	switch {
	case err != nil:
		return nil, fmt.Errorf("no Mooring answers at %s: %w (start it with mooring serve, or name it with --server)", at, err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("what answers at %s is no Mooring that is well: GET /health is %d (name the server with --server)", at, status)
	}
	status, body, err := s.get(ctx, client, "/v1/models")
	switch {
	case err == nil && status == http.StatusUnauthorized && key == "":
		return nil, fmt.Errorf("the server at %s wants a key: give --key or MOORING_KEY (mooring keys create makes one)", at)
	case err == nil && status == http.StatusUnauthorized:
		return nil, fmt.Errorf("the server at %s does not know this key", at)
	case err != nil || status != http.StatusOK:
		return s, nil // upstreams that list nothing may answer all the same
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read what %s offers: %w", at, err)
	}
	for _, m := range list.Data {
		s.models = append(s.models, m.ID)
	}
	return s, nil
}

// mostModels bounds the list of models that is read.
const mostModels = 4 << 20

func (s *server) get(ctx context.Context, client *http.Client, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if s.key != "" {
		req.Header.Set("X-Mooring-Key", s.key.Reveal())
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(res.Body, mostModels))
	return res.StatusCode, body, err
}

// choose takes the model that was asked for, else the only one there is.
func (s *server) choose(model string) {
	switch {
	case model != "":
		s.model = model
	case len(s.models) == 1:
		s.model = s.models[0]
	}
}

// offered are the models to tell a client about that wants a list.
func (s *server) offered() []string {
	if s.model == "" || slices.Contains(s.models, s.model) {
		return s.models
	}
	return append([]string{s.model}, s.models...)
}

func (s *server) modelNote() string {
	if s.model == "" {
		return ""
	}
	return ", model " + s.model
}

package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/apiclient"
)

// server is a running Mooring that clients are pointed at.
type server struct {
	url    string // without a path of an API
	key    mooring.Secret
	models []string
	model  string // to be used; empty for the client's own choice
}

// reach asks the server whether it is there, takes the key, and what it offers.
func reach(ctx context.Context, api *apiclient.Client) (*server, error) {
	s := &server{url: api.Server.URL.String(), key: api.Key}
	if _, err := api.Get(ctx, "/health", nil, nil); err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	_, err := api.Get(ctx, "/v1/models", nil, &list)
	if refusal, ok := errors.AsType[*apiclient.Error](err); ok && refusal.Status == http.StatusUnauthorized {
		return nil, err
	}
	if err != nil {
		return s, nil //nolint:nilerr // upstreams that list nothing may answer all the same
	}
	for _, m := range list.Data {
		s.models = append(s.models, m.ID)
	}
	return s, nil
}

// base takes the path off an address that was given as clients' own base URLs are.
func base(address string) string {
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v1")
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

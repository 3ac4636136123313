package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mooring/test/harness"
)

var errPage = errors.New("a page's turn")

// anew begins a chat anew: with a bare command, or with a question behind it.
func (s *soak) anew(ctx context.Context, chance *rand.Rand) (string, error) {
	key := fmt.Sprintf("chat-%x-%d", s.seed, chance.IntN(20))
	for _, text := range []string{
		harness.Question{Key: key, N: 1}.Text(), []string{"/new", "/new " + harness.Question{Key: key, N: 2}.Text()}[chance.IntN(2)],
		harness.Question{Key: key, N: 3}.Text(),
	} {
		body := fmt.Sprintf(`{"model":"fake-1","messages":[{"role":"user","content":%q}]}`, text)
		if err := s.send(ctx, s.any(chance), key, body); err != nil {
			return "new chat", err
		}
	}
	return "new chats", nil
}

// send asks under a chat's id; that its turn is ended by a /new of somebody else is no fault.
func (s *soak) send(ctx context.Context, r *harness.Replica, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+harness.Chat, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Hermes-Session-Id", key)
	res, err := (&http.Client{Transport: s.transport, Timeout: harness.Patience}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK && res.Header.Get("X-Mooring-Error") != "turn_cancelled" {
		return &harness.StatusError{Method: http.MethodPost, Path: harness.Chat, Status: res.StatusCode, Body: res.Header.Get("X-Mooring-Error")}
	}
	return nil
}

// look reads what pages show.
func (s *soak) look(ctx context.Context, chance *rand.Rand) (string, error) {
	path := []string{
		"/api/sessions?limit=50", "/api/sessions?q=" + url.QueryEscape("soak-"), "/api/search?q=question", "/api/stats", "/api/usage?by=model", "/api/upstreams",
		"/v1/models", "/metrics",
	}[chance.IntN(8)]
	var body []byte
	return "reads", s.any(chance).Get(ctx, path, &body)
}

// remove deletes a session that has been used a while ago.
func (s *soak) remove(ctx context.Context, chance *rand.Rand) (string, error) {
	r := s.any(chance)
	var list struct {
		Sessions []harness.SessionView `json:"sessions"`
	}
	if err := r.Get(ctx, "/api/sessions?limit=200&q=soak-&state=completed", &list); err != nil {
		return "list", err
	}
	if len(list.Sessions) < 100 {
		return "deletions that found too little", nil
	}
	last := list.Sessions[len(list.Sessions)-1]
	err := r.Do(ctx, http.MethodDelete, "/api/sessions/"+last.ID, "", nil)
	if harness.StatusOf(err) == http.StatusNotFound {
		err = nil // somebody else was faster
	}
	return "deletions", err
}

// listen follows what happens for a moment.
func (s *soak) listen(ctx context.Context, chance *rand.Rand) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, harness.Between(chance, 100*time.Millisecond, 3*time.Second))
	defer cancel()
	events, err := s.events(ctx, http.MethodGet, s.any(chance).URL+"/api/events", "")
	if err != nil {
		if ctx.Err() != nil {
			return "listeners", nil
		}
		return "listen", err
	}
	defer func() { _ = events.Close() }()
	follow(events, "")
	return "listeners", nil
}

package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mooring"
)

// The routes of the session API.
const (
	sessionsPath = "/api/sessions"
	turnsPath    = "/api/turns/"
	SearchPath   = "/api/search"
)

// pageSize is the most that the API gives at once.
const pageSize = 200

// SessionPath is the route of a session, or of something of it, named by id or key.
func SessionPath(name string, parts ...string) string {
	segment := url.PathEscape(name)
	if name == "." || name == ".." {
		segment = strings.ReplaceAll(name, ".", "%2E") // these would be cleaned away
	}
	return strings.Join(append([]string{sessionsPath, segment}, parts...), "/")
}

// TurnPath is the route of a turn.
func TurnPath(id string) string { return turnsPath + url.PathEscape(id) }

// SessionList is a part of a list, each entry read and as it came.
type SessionList struct {
	Sessions []Session
	Raw      []json.RawMessage
	Next     *string // cursor of what comes after it
	Total    int
}

// JSON gives the list as the API writes one.
func (l SessionList) JSON() (json.RawMessage, error) {
	raw := l.Raw
	if raw == nil {
		raw = []json.RawMessage{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(sessionPage{Sessions: raw, Next: l.Next, Total: l.Total})
	return out.Bytes(), err
}

type sessionPage struct {
	Sessions []json.RawMessage `json:"sessions"`
	Next     *string           `json:"next_cursor"`
	Total    int               `json:"total"`
}

// Everything is the limit of a list that ends with its last entry.
const Everything = 0

// Sessions lists sessions, newest activity first, and follows the cursors as far as the limit wants it.
func (c *Client) Sessions(ctx context.Context, filter url.Values, limit int) (SessionList, error) {
	var all SessionList
	query := url.Values{}
	maps.Copy(query, filter)
	for {
		size := pageSize
		if limit != Everything {
			size = min(pageSize, limit-len(all.Raw))
		}
		query.Set("limit", strconv.Itoa(size))
		page, err := c.page(ctx, query)
		if err != nil {
			return SessionList{}, err
		}
		all.Sessions, all.Raw = append(all.Sessions, page.Sessions...), append(all.Raw, page.Raw...)
		all.Next, all.Total = page.Next, page.Total
		if page.Next == nil || len(page.Raw) == 0 || limit != Everything && len(all.Raw) >= limit {
			return all, nil
		}
		if *page.Next == query.Get("cursor") {
			return SessionList{}, &Error{Status: http.StatusOK, words: fmt.Sprintf("the list of the server at %s has no end; ask for less with --limit", c.Server)}
		}
		query.Set("cursor", *page.Next)
	}
}

func (c *Client) page(ctx context.Context, query url.Values) (SessionList, error) {
	var body sessionPage
	if _, err := c.Get(ctx, sessionsPath, query, &body); err != nil {
		return SessionList{}, err
	}
	list := SessionList{Sessions: make([]Session, len(body.Sessions)), Raw: body.Sessions, Next: body.Next, Total: body.Total}
	for i, raw := range body.Sessions {
		if err := json.Unmarshal(raw, &list.Sessions[i]); err != nil {
			return SessionList{}, &Error{Status: http.StatusOK, words: fmt.Sprintf("the server at %s lists sessions of another shape than this program knows", c.Server)}
		}
	}
	return list, nil
}

// shortLength is the length of what SessionID.Short gives.
const shortLength = len("ses_") + 8

// Resolve turns the short form of an id, which lists show, into the whole one. Any other name it gives back as it is, and
// so it does with one of that shape that is a session's key.
func (c *Client) Resolve(ctx context.Context, name string) (string, error) {
	if len(name) != shortLength || !strings.HasPrefix(name, "ses_") {
		return name, nil
	}
	_, err := c.Get(ctx, SessionPath(name), nil, nil)
	if refused, ok := err.(*Error); err == nil || !ok || refused.Code != mooring.CodeSessionNotFound { //nolint:errorlint // Get gives nothing else
		return name, err
	}
	list, listErr := c.Sessions(ctx, nil, Everything)
	if listErr != nil {
		return "", listErr
	}
	var found []string
	for _, s := range list.Sessions {
		if s.ID.Short() == name {
			found = append(found, string(s.ID))
		}
	}
	switch len(found) {
	case 0:
		return "", err
	case 1:
		return found[0], nil
	}
	return "", &Error{Status: http.StatusConflict, Code: mooring.CodeAmbiguousKey, words: fmt.Sprintf("%s is short for several sessions: %s", name, strings.Join(found, ", "))}
}

// LastTurn gives the turn of a session that began last.
func (c *Client) LastTurn(ctx context.Context, name string) (Turn, json.RawMessage, error) {
	id, err := c.Resolve(ctx, name)
	if err != nil {
		return Turn{}, nil, err
	}
	var body struct {
		Turns []json.RawMessage `json:"turns"`
	}
	if _, err := c.Get(ctx, SessionPath(id, "turns"), nil, &body); err != nil {
		return Turn{}, nil, err
	}
	var last Turn
	var lastRaw json.RawMessage
	for _, raw := range body.Turns {
		var t Turn
		if err := json.Unmarshal(raw, &t); err != nil {
			return Turn{}, nil, &Error{Status: http.StatusOK, words: fmt.Sprintf("the server at %s lists turns of another shape than this program knows", c.Server)}
		}
		if lastRaw == nil || t.StartedAt.After(last.StartedAt) {
			last, lastRaw = t, raw
		}
	}
	if lastRaw == nil {
		return Turn{}, nil, &Error{Status: http.StatusOK, Code: mooring.CodeNotFound, words: "this session has had no turn yet, so there is nothing to explain"}
	}
	return last, lastRaw, nil
}

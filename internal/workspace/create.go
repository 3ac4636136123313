package workspace

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// createSession makes a session that has no turn yet. Requests under its key are its turns.
func (a *API) createSession(w http.ResponseWriter, r *http.Request, tenant mooring.Tenant) (reply, error) {
	if tenant == "" {
		return reply{}, mooring.Errorf(mooring.CodeInvalidRequest, "This key belongs to no tenant, which could have the session; use a tenant's key.")
	}
	body, err := a.write.Body(w, r)
	if err != nil {
		return reply{}, err
	}
	title, key, err := newSession(body)
	if err != nil {
		return reply{}, err
	}
	if key == nil {
		fresh := a.write.NewKey()
		key = &fresh
	}
	kept, names, err := a.write.Name(*key)
	if err != nil {
		return reply{}, err
	}
	if err = a.unnamed(r.Context(), tenant, kept); err != nil {
		return reply{}, err
	}
	s := a.fresh(tenant, kept)
	s.Title = title
	if err := a.write.Commit(r.Context(), &mooring.Begin{Session: s, New: true, Aliases: names}); err != nil {
		if mooring.CodeOf(err) == mooring.CodeSessionTaken {
			return reply{}, keyTaken()
		}
		return reply{}, err
	}
	return a.made(r, tenant, s.ID)
}

// fresh is a session that was made now.
func (a *API) fresh(tenant mooring.Tenant, key string) mooring.Session {
	const friendly = 8 // the end of an id is its random part
	id, now := a.write.NewSession(), a.now()
	return mooring.Session{
		Tenant: tenant, ID: id, Key: key, FriendlyID: strings.ToLower(string(id[len(id)-friendly:])), Root: id, Relation: mooring.RelationMain,
		CreatedAt: now, UpdatedAt: now,
	}
}

// unnamed makes sure that a key would name one session. Two of one key are possible, where clients sent it under names that mean
// different things; nobody should make them on purpose.
func (a *API) unnamed(ctx context.Context, tenant mooring.Tenant, key string) error {
	if internalID(key) {
		_, err := a.store.Session(ctx, tenant, mooring.SessionID(key))
		if mooring.CodeOf(err) != mooring.CodeSessionNotFound {
			return orTaken(err)
		}
	}
	found, err := a.store.SessionsByKey(ctx, tenant, key)
	if err != nil || len(found) > 0 {
		return orTaken(err)
	}
	return nil
}

func orTaken(err error) error {
	if err != nil {
		return err
	}
	return keyTaken()
}

func keyTaken() error {
	return mooring.Errorf(mooring.CodeAmbiguousKey,
		"A session has this key already: GET /api/sessions/{key} reads it, with the key escaped for a URL. Give another key, or none.")
}

// newSession reads the body of a create; a key that is not there is nil. No body at all asks for no more than a session.
func newSession(body []byte) (title string, key *string, err error) {
	if len(body) == 0 {
		return "", nil, nil
	}
	err = eachMember(body, func(name string, value jsontext.Value) error {
		var fault error
		switch name {
		case "title":
			title, fault = titleOf(value)
		case "key":
			var text string
			text, fault = textOf(name, value)
			key = &text
		default:
			fault = unknownMember("title and key")
		}
		return fault
	})
	return title, key, err
}

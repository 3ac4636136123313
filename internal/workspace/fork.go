package workspace

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// trailPage is how many messages of a branch one query asks for where only their ids are wanted.
const trailPage = 1000

// forkSession makes a session of its own out of a branch, up to and including one message. Contents are not read for that: the
// store copies them.
func (a *API) forkSession(w http.ResponseWriter, r *http.Request, tenant mooring.Tenant) (reply, error) {
	body, err := a.write.Body(w, r)
	if err != nil {
		return reply{}, err
	}
	last, err := readFork(body)
	if err != nil {
		return reply{}, err
	}
	source, err := a.find(r, tenant)
	if err != nil {
		return reply{}, err
	}
	ids, err := a.branch(r.Context(), source, last)
	if err != nil {
		return reply{}, err
	}
	key, names, err := a.write.Name(a.write.NewKey())
	if err != nil {
		return reply{}, err
	}
	c := &mooring.Begin{Session: a.forkOf(source, key), New: true, Aliases: names, Copies: make([]mooring.Copy, len(ids))}
	for i, id := range ids {
		c.Copies[i] = mooring.Copy{From: id, To: a.write.NewMessage()}
	}
	c.Session.Tip = c.Copies[len(ids)-1].To
	if err := a.write.Commit(r.Context(), c); err != nil {
		return reply{}, err
	}
	return a.made(r, tenant, c.Session.ID)
}

func (a *API) forkOf(source mooring.Session, key string) mooring.Session {
	s := a.fresh(source.Tenant, key)
	s.Parent, s.Root, s.Relation = source.ID, source.Root, mooring.RelationFork
	s.Title, s.Client, s.Project = source.Title, source.Client, source.Project
	return s
}

// branch gives the ids of a branch from its root to a message of the session, at least that one.
func (a *API) branch(ctx context.Context, s mooring.Session, last mooring.MessageID) ([]mooring.MessageID, error) {
	var ids []mooring.MessageID
	for at := last; at != ""; {
		part, err := a.store.Trail(ctx, s.Tenant, s.ID, at, trailPage)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			return nil, mooring.Errorf(mooring.CodeNotFound, "This session has no such message; GET /api/sessions/{id}/messages lists those it has.")
		}
		for i := range part {
			ids = append(ids, part[i].ID)
		}
		at = part[len(part)-1].Parent
	}
	slices.Reverse(ids)
	return ids, nil
}

func readFork(body []byte) (mooring.MessageID, error) {
	const takes = "message_id"
	var id mooring.MessageID
	if len(body) == 0 {
		return "", mooring.Errorf(mooring.CodeInvalidRequest, "The body is empty; send a JSON object with %s, the message that the fork ends with.", takes)
	}
	err := eachMember(body, func(name string, value jsontext.Value) error {
		if name != takes {
			return unknownMember(takes)
		}
		var err error
		id, err = messageOf(name, value)
		return err
	})
	if err == nil && id == "" {
		err = mooring.Errorf(mooring.CodeInvalidRequest, "The member %s is missing; it says with which message the fork ends.", takes)
	}
	return id, err
}

package workspace

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// patchSession changes what people may change. Memory forgets the session even where the change failed: whether it was committed
// may be unknown then.
func (a *API) patchSession(w http.ResponseWriter, r *http.Request, tenant mooring.Tenant) (reply, error) {
	body, err := a.write.Body(w, r)
	if err != nil {
		return reply{}, err
	}
	change, err := readPatch(body)
	if err != nil {
		return reply{}, err
	}
	s, err := a.find(r, tenant)
	if err != nil {
		return reply{}, err
	}
	change.Tenant, change.Session = tenant, s.ID
	err = a.write.Commit(r.Context(), change)
	a.write.Forget(tenant, s.ID)
	if err != nil {
		return reply{}, err
	}
	v, err := a.shown(r, tenant, s.ID)
	return reply{status: http.StatusOK, body: v}, err
}

const patchTakes = "title, pinned, archived and tip"

func readPatch(body []byte) (*mooring.Patch, error) {
	change := &mooring.Patch{}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The body is empty; send a JSON object with one or more of %s.", patchTakes)
	}
	members := 0
	err := eachMember(body, func(name string, value jsontext.Value) error {
		members++
		return patchMember(change, name, value)
	})
	if err != nil {
		return nil, err
	}
	if members == 0 {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "There is nothing to change; name one or more of %s.", patchTakes)
	}
	return change, nil
}

func patchMember(change *mooring.Patch, name string, value jsontext.Value) error {
	var err error
	switch name {
	case "title":
		var title string
		title, err = titleOf(value)
		change.Title = &title
	case "pinned":
		var on bool
		on, err = flagOf(name, value)
		change.Pinned = &on
	case "archived":
		var on bool
		on, err = flagOf(name, value)
		change.Archived = &on
	case "tip":
		change.Tip, err = messageOf(name, value)
	default:
		err = unknownMember(patchTakes)
	}
	return err
}

// messageOf reads the id of a message, which is never empty.
func messageOf(name string, value jsontext.Value) (mooring.MessageID, error) {
	id, err := textOf(name, value)
	if err == nil && id == "" {
		err = mooring.Errorf(mooring.CodeInvalidRequest, "The member %s must be the id of a message.", name)
	}
	return mooring.MessageID(id), err
}

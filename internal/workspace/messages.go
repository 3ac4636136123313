package workspace

import (
	"net/http"

	"mooring"
)

type messageList struct {
	SessionID  mooring.SessionID  `json:"session_id"`
	Messages   []messageView      `json:"messages"`
	NextCursor *mooring.MessageID `json:"next_cursor"`
}

// pageBytes is how much of contents a page holds before it ends early: 200 messages of images would be gigabytes.
const pageBytes = 8 << 20

// listMessages gives a part of a branch, oldest message first. The first page is the branch's end; next_cursor is the
// `before` of the page above it.
func (a *API) listMessages(r *http.Request, tenant mooring.Tenant) (any, error) {
	q := r.URL.Query()
	limit, err := limitOf(q)
	if err != nil {
		return nil, err
	}
	s, err := a.find(r, tenant)
	if err != nil {
		return nil, err
	}
	branch, more, err := a.store.Branch(r.Context(), tenant, s.ID, mooring.BranchPage{
		Tip:    mooring.MessageID(q.Get("tip")),
		Before: mooring.MessageID(q.Get("before")),
		Limit:  limit,
		Bytes:  pageBytes,
	})
	if err != nil {
		return nil, err
	}
	if len(branch) == 0 && q.Get("tip") != "" && q.Get("before") == "" {
		return nil, mooring.Errorf(mooring.CodeNotFound, "This session has no such message; leave tip out for its current branch.")
	}
	list := messageList{SessionID: s.ID, Messages: make([]messageView, len(branch))}
	for i, m := range branch {
		list.Messages[i] = viewMessage(m)
	}
	if more && len(branch) > 0 {
		list.NextCursor = &branch[0].ID
	}
	return list, nil
}

package workspace

import (
	"context"
	"net/http"
	"slices"

	"mooring"
)

type messageList struct {
	SessionID  mooring.SessionID  `json:"session_id"`
	Messages   []branchMessage    `json:"messages"`
	NextCursor *mooring.MessageID `json:"next_cursor"`
}

// branchMessage is a message with those of the same parent, itself included, in the order in which they came.
type branchMessage struct {
	messageView
	Siblings []mooring.MessageID `json:"siblings"`
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
	tip := mooring.MessageID(q.Get("tip"))
	if tip != "" && q.Get("down") == "1" {
		if tip, err = a.store.Newest(r.Context(), tenant, s.ID, tip); err != nil {
			return nil, err
		}
		if tip == "" {
			return nil, noSuchTip()
		}
	}
	branch, more, err := a.store.Branch(r.Context(), tenant, s.ID, mooring.BranchPage{
		Tip:    tip,
		Before: mooring.MessageID(q.Get("before")),
		Limit:  limit,
		Bytes:  pageBytes,
	})
	if err != nil {
		return nil, err
	}
	if len(branch) == 0 && q.Get("tip") != "" && q.Get("before") == "" {
		return nil, noSuchTip()
	}
	beside, err := a.beside(r.Context(), s, branch)
	if err != nil {
		return nil, err
	}
	list := messageList{SessionID: s.ID, Messages: make([]branchMessage, len(branch))}
	for i, m := range branch {
		list.Messages[i] = branchMessage{viewMessage(m), beside(m)}
	}
	if more && len(branch) > 0 {
		list.NextCursor = &branch[0].ID
	}
	return list, nil
}

func noSuchTip() error {
	return mooring.Errorf(mooring.CodeNotFound, "This session has no such message; leave tip out for its current branch.")
}

// beside gives what says which messages stand beside one of a page. They are read where there are any.
func (a *API) beside(ctx context.Context, s mooring.Session, page []mooring.Message) (func(mooring.Message) []mooring.MessageID, error) {
	var parents []mooring.MessageID
	for i := range page {
		if page[i].Branches > 1 {
			parents = append(parents, page[i].Parent)
		}
	}
	found, err := a.store.Siblings(ctx, s.Tenant, s.ID, parents)
	return func(m mooring.Message) []mooring.MessageID {
		list := found[m.Parent]
		if m.Branches < 2 || !slices.Contains(list, m.ID) { // beyond what is read
			list = append(slices.Clip(list), m.ID)
		}
		return list
	}, err
}

package workspace

import (
	"net/http"
	"slices"

	"mooring"
)

// largestTree bounds an answer: 10,000 sessions are some 7 MB of JSON.
const largestTree = 10_000

// treeView is a session with what stands below it, oldest first.
type treeView struct {
	sessionView
	Children []*treeView `json:"children"`

	use mooring.Spending // of the session and all below it
}

func (a *API) showTree(r *http.Request, tenant mooring.Tenant) (any, error) {
	top, err := a.find(r, tenant)
	if err != nil {
		return nil, err
	}
	below, more, err := a.store.Descendants(r.Context(), tenant, top.ID, largestTree)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest,
			"This tree has more than %d sessions; read it in parts with GET /api/sessions?parent={id}.", largestTree)
	}
	return treeOf(top, below), nil
}

// treeOf hangs sessions below their parents and rolls up what they used. It walks lists, not calls, so no depth can hurt it.
func treeOf(top mooring.Session, below []mooring.Session) *treeView {
	root := newNode(top)
	nodes := map[mooring.SessionID]*treeView{top.ID: root}
	for _, s := range below {
		nodes[s.ID] = newNode(s)
	}
	for _, s := range below {
		if parent, ok := nodes[s.Parent]; ok && s.ID != top.ID {
			parent.Children = append(parent.Children, nodes[s.ID])
		}
	}
	order := []*treeView{root}
	for i := 0; i < len(order); i++ {
		order = append(order, order[i].Children...)
	}
	for _, node := range slices.Backward(order) { // children stand behind their parents
		node.rollUp()
	}
	return root
}

func newNode(s mooring.Session) *treeView {
	use := mooring.Spending{Usage: s.Usage, CostUSD: s.CostUSD}
	return &treeView{sessionView: viewSession(s, use), Children: []*treeView{}, use: use}
}

func (n *treeView) rollUp() {
	for _, child := range n.Children {
		n.use.Usage = n.use.Usage.Add(child.use.Usage)
		n.use.CostUSD = addDollars(n.use.CostUSD, child.use.CostUSD)
	}
	n.TreeUsage = viewSpending(n.use)
}

// addDollars sums two prices; the sum is known where both are.
func addDollars(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

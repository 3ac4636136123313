// Package traffic makes up labelled traffic of client programs for tests: conversations that take place at the same time, as
// their clients send them, with the answers they are given and with the truth about which conversation each request belongs
// to. The same seed gives the same traffic. Nothing of the product imports it.
package traffic

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"mooring/internal/eval"
)

// Options say what is made.
type Options struct {
	Seed  uint64
	Plain bool // clients send their histories as they are; everything else is the same
}

// family is a kind of traffic.
type family struct {
	name  string
	make  func(w *world)
	twins bool // nothing tells some of its conversations apart
}

// Families names what can be made, in order.
func Families() []string {
	var out []string
	for _, f := range families() {
		out = append(out, f.name)
	}
	return out
}

// HasTwins says that a family holds conversations which nothing tells apart.
func HasTwins(name string) bool {
	return slices.ContainsFunc(families(), func(f family) bool { return f.name == name && f.twins })
}

// Make makes the traffic of a family.
func Make(name string, o Options) (*eval.Trace, error) {
	i := slices.IndexFunc(families(), func(f family) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no family %q", name)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	w := &world{
		rng: rand.New(rand.NewPCG(o.Seed, h.Sum64())), whim: rand.New(rand.NewPCG(^o.Seed, h.Sum64())), //nolint:gosec // it has to be repeatable
		plain: o.Plain, family: name,
	}
	families()[i].make(w)
	return w.trace(), nil
}

// trace puts what was said in order.
func (w *world) trace() *eval.Trace {
	w.markTwins()
	lines := slices.Clone(w.lines)
	slices.SortStableFunc(lines, func(a, b eval.Line) int { return cmp.Compare(a.T, b.T) })
	for i := range lines {
		lines[i].N = i + 1
	}
	return &eval.Trace{Name: w.family, Lines: lines, Labelled: true}
}

// markTwins marks first requests that are equal and were answered alike.
func (w *world) markTwins() {
	groups := map[string][]int{}
	for _, o := range w.openers {
		groups[o.key] = append(groups[o.key], o.line)
	}
	for _, o := range w.openers {
		if len(groups[o.key]) > 1 {
			w.lines[o.line].Truth.Twin = fmt.Sprintf("twin%d", groups[o.key][0])
		}
	}
}

func families() []family {
	return []family{
		{name: "openers", make: openers, twins: true},
		{name: "weave", make: weave},
		{name: "coders_chat", make: func(w *world) { coders(w, chat) }},
		{name: "coders_messages", make: func(w *world) { coders(w, messages) }},
		{name: "coders_responses", make: func(w *world) { coders(w, responses) }},
		{name: "rewrites", make: rewrites},
		{name: "windows", make: windows},
		{name: "examples", make: examples},
		{name: "prefill", make: prefill},
		{name: "pictures", make: pictures},
		{name: "branches", make: branches},
		{name: "imports", make: imports},
		{name: "twins", make: twins, twins: true},
		{name: "ids", make: ids},
		{name: "rotated", make: rotated},
		{name: "late_ids", make: lateIDs},
		{name: "disagreeing_ids", make: disagreeingIDs},
		{name: "unlisted_header", make: unlistedHeader},
		{name: "claude", make: claude},
		{name: "claude_legacy", make: claudeLegacy},
		{name: "codex", make: codex},
		{name: "opencode", make: opencode},
		{name: "shared_id", make: sharedID},
		{name: "subagents", make: subagents},
		{name: "subagents_template", make: subagentsTemplate},
		{name: "side_ids", make: func(w *world) { sides(w, true) }},
		{name: "side_headerless", make: func(w *world) { sides(w, false) }},
		{name: "compaction", make: func(w *world) { compactions(w, false) }},
		{name: "compaction_ids", make: func(w *world) { compactions(w, true) }},
		{name: "retries", make: retries},
		{name: "restarts", make: restarts},
		{name: "tenants", make: tenants},
		{name: "models", make: models},
		{name: "chains", make: chains},
		{name: "everything", make: everything},
	}
}

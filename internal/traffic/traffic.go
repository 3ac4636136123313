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
	name string
	fill func(w *world)
}

// Families names what can be made, in order.
func Families() []string {
	var out []string
	for _, f := range catalogue() {
		out = append(out, f.name)
	}
	return out
}

// Make makes the traffic of a family.
func Make(name string, o Options) (*eval.Trace, error) {
	i := slices.IndexFunc(catalogue(), func(f family) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no family %q", name)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	w := &world{
		rng: rand.New(rand.NewPCG(o.Seed, h.Sum64())), whim: rand.New(rand.NewPCG(^o.Seed, h.Sum64())), //nolint:gosec // it has to be repeatable
		plain: o.Plain, family: name, tenant: "north",
	}
	catalogue()[i].fill(w)
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

func catalogue() []family {
	return []family{
		{name: "openers", fill: openers},
		{name: "weave", fill: weave},
		{name: "coders_chat", fill: func(w *world) { coders(w, chat) }},
		{name: "coders_messages", fill: func(w *world) { coders(w, messages) }},
		{name: "coders_responses", fill: func(w *world) { coders(w, responses) }},
		{name: "rewrites", fill: rewrites},
		{name: "windows", fill: windows},
		{name: "examples", fill: examples},
		{name: "prefill", fill: prefill},
		{name: "pictures", fill: pictures},
		{name: "branches", fill: branches},
		{name: "imports", fill: imports},
		{name: "twins", fill: twins},
		{name: "ids", fill: ids},
		{name: "rotated", fill: rotated},
		{name: "late_ids", fill: lateIDs},
		{name: "disagreeing_ids", fill: disagreeingIDs},
		{name: "unlisted_header", fill: unlistedHeader},
		{name: "learned_header", fill: learnedHeader},
		{name: "claude", fill: claude},
		{name: "claude_legacy", fill: claudeLegacy},
		{name: "codex", fill: codex},
		{name: "opencode", fill: opencode},
		{name: "shared_id", fill: sharedID},
		{name: "subagents", fill: subagents},
		{name: "subagents_template", fill: subagentsTemplate},
		{name: "subagents_again", fill: subagentsAgain},
		{name: "side_ids", fill: func(w *world) { sides(w, true) }},
		{name: "side_headerless", fill: func(w *world) { sides(w, false) }},
		{name: "compaction", fill: func(w *world) { compactions(w, false) }},
		{name: "compaction_ids", fill: func(w *world) { compactions(w, true) }},
		{name: "retries", fill: retries},
		{name: "restarts", fill: restarts},
		{name: "tenants", fill: tenants},
		{name: "models", fill: models},
		{name: "chains", fill: chains},
		{name: "everything", fill: everything},
	}
}

package app

import (
	"maps"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/serve"
	"mooring/internal/upstream"
)

// lists are the models that upstreams have listed; none of those that list nothing.
type lists map[mooring.UpstreamName][]string

// models says which models that the configuration names nobody has. A list is a hint: a server may serve what it does not list.
func (c *checker) models() {
	all, err := upstreams(c.cfg)
	if err != nil {
		c.fail("%v", err)
		return
	}
	fleet := upstream.NewFleet(all)
	defer fleet.Close()
	for _, u := range all {
		for _, model := range u.Models {
			if !globbed(model) && c.lists.lack(model, []mooring.UpstreamName{u.Name}) {
				c.note("upstream %s: its models name %s, which it does not list", u.Name, model)
			}
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(c.cfg.Models)) {
		for _, model := range c.cfg.Models[alias] {
			switch at := serving(fleet, model); {
			case len(at) == 0:
				c.fail("models.%s: no upstream serves %s; add it to the models of one", alias, model)
			case c.lists.lack(model, at):
				c.note("models.%s: %s is not in the list of %s", alias, model, strings.Join(texts(at), ", "))
			}
		}
	}
	for _, k := range c.cfg.Keys {
		for _, glob := range k.Models {
			if c.nobodyHas(fleet, glob) {
				c.note("key %s: nobody has a model %s", k.Name, glob)
			}
		}
	}
}

// nobodyHas says that no model which is known of has a name that a key's list gives.
func (c *checker) nobodyHas(fleet *upstream.Fleet, glob string) bool {
	match := serve.Key{Models: []string{glob}}.MayUse
	if slices.ContainsFunc(slices.Collect(maps.Keys(c.cfg.Models)), match) {
		return false
	}
	if !globbed(glob) {
		at := serving(fleet, glob)
		return len(at) == 0 || c.lists.lack(glob, at)
	}
	for _, u := range fleet.All() {
		if slices.ContainsFunc(u.Models, func(m string) bool { return !globbed(m) && match(m) }) {
			return false
		}
		listed, told := c.lists[u.Name]
		if !told && slices.ContainsFunc(u.Models, globbed) || slices.ContainsFunc(listed, match) {
			return false
		}
	}
	return true
}

// lack says that all of these upstreams have listed their models, and none of them this one.
func (l lists) lack(model string, at []mooring.UpstreamName) bool {
	return !slices.ContainsFunc(at, func(u mooring.UpstreamName) bool {
		listed, told := l[u]
		return !told || slices.Contains(listed, model)
	})
}

// serving gives the upstreams that are asked for a model, in whichever protocol.
func serving(fleet *upstream.Fleet, model string) []mooring.UpstreamName {
	var out []mooring.UpstreamName
	for _, p := range []mooring.Protocol{mooring.Chat, mooring.Messages} {
		for _, u := range fleet.Candidates(p, model) {
			if !slices.Contains(out, u.Name) {
				out = append(out, u.Name)
			}
		}
	}
	return out
}

func globbed(model string) bool { return strings.ContainsAny(model, `*?[\`) }

func texts(names []mooring.UpstreamName) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}

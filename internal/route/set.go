package route

import (
	"slices"
	"strings"

	"mooring"
)

// aliasEnd stands behind the name of an alias in the key of a set; no upstream's name holds it.
const aliasEnd = ":"

// SetKey names a set of candidates, whatever their order. What an alias stands for has a key of its own: the session stays with
// the model that it got under that name.
func SetKey(all []Candidate) string {
	if len(all) == 1 && all[0].Alias == "" {
		return string(all[0].Name)
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = string(c.Name)
	}
	slices.Sort(names)
	key := strings.Join(slices.Compact(names), ",")
	if alias := aliasOf(all); alias != "" {
		return alias + aliasEnd + key
	}
	return key
}

func aliasOf(all []Candidate) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].Alias
}

// inKey takes the key of a set apart.
func inKey(key string) (alias string, names []string) {
	if i := strings.LastIndex(key, aliasEnd); i >= 0 {
		alias, key = key[:i], key[i+len(aliasEnd):]
	}
	return alias, strings.Split(key, ",")
}

// ofAlias says that a pin was made under an alias.
func ofAlias(pin *mooring.Pin, alias string) bool {
	under, _ := inKey(pin.Set)
	return under == alias
}

// named gives candidates of an alias as those for a model that the client names.
func named(all []Candidate) []Candidate {
	out := slices.Clone(all)
	for i := range out {
		out[i].Alias, out[i].Model = "", ""
	}
	return out
}

// Within says whether a session may be pinned to a candidate under a key: it is one of that set, under the same alias.
func Within(key string, c Candidate) bool {
	alias, names := inKey(key)
	return alias == c.Alias && slices.Contains(names, string(c.Name))
}

// At gives the position of the candidate that a spot is at; -1 where there is none. A candidate without an alias is there whatever
// the model.
func At(all []Candidate, s mooring.Spot) int {
	return slices.IndexFunc(all, func(c Candidate) bool {
		return c.Name == s.Upstream && (c.Alias == "" || c.Model == s.Model)
	})
}

// ofFirst gives the candidates for the model that an alias names first, or all where there is no alias.
func ofFirst(all []Candidate) []Candidate {
	end := slices.IndexFunc(all, func(c Candidate) bool { return c.Model != all[0].Model })
	if end < 0 {
		return all
	}
	return all[:end]
}

// Ranked gives the candidates in the order in which a session without a pin tries them: those that are well and take new sessions
// first, of these the ones for the model that an alias names first. Within one model it is the policy's order.
func Ranked(p Policy, key string, turn uint64, all []Candidate) []Candidate {
	if aliasOf(all) == "" {
		return Order(p, key, turn, all)
	}
	out := make([]Candidate, 0, len(all))
	for rest := all; len(rest) > 0; {
		group := ofFirst(rest)
		out, rest = append(out, Order(p, key, turn, group)...), rest[len(group):]
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return reluctance(a) - reluctance(b) })
	return out
}

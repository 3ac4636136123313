package identify

import (
	"slices"
	"strings"

	"mooring"
)

// fresh is a new session as a request opens it.
func (e *Engine) fresh(q Request, key string) mooring.Session {
	id := e.NewSession()
	return mooring.Session{
		Tenant: q.Tenant, ID: id, Key: key, FriendlyID: strings.ToLower(string(id[len(id)-8:])), Root: id, Relation: mooring.RelationMain,
		Models: []string{q.Wire.Model},
	}
}

// told completes a finding with what the request says beside its ids: what it is for, who sent it, what is worked on, and the
// evidence of all that.
func (e *Engine) told(q Request, r *reading, f *Finding) {
	if f.New && f.Known.Relation == mooring.RelationMain && r.sub && !r.unplaced {
		f.Known.Relation = mooring.RelationSubagent
	}
	f.Kind = kindFor(q, r, f.Known.Session)
	f.Known.Client, f.Known.Project = r.client, r.project
	f.Evidence = append(f.Evidence, r.ignored...)
	slices.SortStableFunc(f.Evidence, func(x, y mooring.Evidence) int { return weight(&x) - weight(&y) })
}

// weight puts what decided first and what is never used last.
func weight(ev *mooring.Evidence) int {
	switch {
	case ev.Use == "never":
		return 3
	case ev.Says != "" && ev.Says != string(saysSession):
		return 2
	case ev.Use != "decided":
		return 1
	}
	return 0
}

// toNew is what an id points to that is known for no session yet.
const toNew = "new"

// evidence tells of the request's ids which one decided, and what each points to, as far as that was looked up or is in memory.
func (e *Engine) evidence(t mooring.Tenant, r *reading, hits map[mooring.Alias]mooring.SessionID) []mooring.Evidence {
	out := make([]mooring.Evidence, 0, len(r.ids))
	for i, id := range r.ids {
		ev := mooring.Evidence{Signal: id.String(), Says: string(saysSession), Value: id.value, Use: "decided", Why: "the strongest id of the request, known from " + id.source}
		to, ok := hits[id.alias]
		if !ok {
			to, ok = e.aliases.GetIfPresent(aliasKey{t, id.alias})
		}
		if ok {
			ev.Points = string(to)
		} else if i == 0 && r.agent == "" {
			ev.Points = toNew
		}
		switch {
		case i == 0:
		case id.value == r.ids[0].value:
			ev.Use, ev.Why = "agreed", "the same value under another name"
		default:
			ev.Use, ev.Why = "ignored", "another value than the stronger "+r.ids[0].String()
		}
		out = append(out, ev)
	}
	return out
}

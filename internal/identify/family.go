package identify

import (
	"context"
	"slices"
	"strings"

	"mooring"
)

// path reads a Helicone path: the first step is the session itself, each further one a step of its own below the one before.
func (r *reading) path(v string) {
	steps := strings.Split(strings.Trim(v, "/"), "/")
	if len(steps) < 2 {
		return
	}
	r.agent = "/" + strings.Join(steps, "/")
	if len(steps) > 2 {
		r.agentOf = "/" + strings.Join(steps[:len(steps)-1], "/")
	}
}

// relate settles what the agents and parents of a request mean beside its ids.
func (r *reading) relate() {
	if strings.HasPrefix(r.agent, "/") && (len(r.ids) == 0 || r.ids[0].name != headerHelicone) {
		r.agent, r.agentOf = "", ""
		r.withdraw("no id of Helicone decides", func(ev *mooring.Evidence) bool { return ev.Says == string(saysAgent) })
	}
	if len(r.ids) == 0 {
		r.agent, r.agentOf, r.parents, r.forked = "", "", nil, nil
		r.withdraw("no id names the session that it speaks of", func(*mooring.Evidence) bool { return true })
		return
	}
	own := r.ids[0].value
	if r.kind != mooring.KindSide {
		r.parents = append(r.parents, r.root()...)
	}
	// No session is its own parent: some programs name the root of a tree in every request, the root's included.
	r.parents = slices.DeleteFunc(r.parents, func(p seen) bool { return p.value == own })
	if r.forked != nil && r.forked.value == own {
		r.forked = nil
	}
	r.withdraw("it is the session itself", func(ev *mooring.Evidence) bool { return ev.Says == string(saysParent) && ev.Value == own })
}

// withdraw corrects the evidence of agents and parents that turn out to say nothing.
func (r *reading) withdraw(why string, which func(ev *mooring.Evidence) bool) {
	for i := range r.ignored {
		ev := &r.ignored[i]
		if ev.Use == "decided" && (ev.Says == string(saysAgent) || ev.Says == string(saysParent)) && which(ev) {
			ev.Use, ev.Why = "ignored", why
		}
	}
}

// root is Codex' id of a whole tree of threads, where it is another one than the thread's.
func (r *reading) root() []seen {
	thread := r.ids[0]
	if !slices.Contains([]string{"thread-id", "client_metadata.thread_id", codexHeader, codexField}, thread.name) {
		return nil
	}
	for _, id := range r.ids[1:] {
		if (id.name == "session-id" || id.name == "client_metadata.session_id") && id.value != thread.value {
			return []seen{id}
		}
	}
	return nil
}

// nested says that the request's own ids put its session below another one.
func (r *reading) nested() bool {
	return r.agent != "" || slices.ContainsFunc(r.parents, func(p seen) bool { return !p.weak })
}

// above are the names under which the session above may be known, the nearest first: for a sub-agent the agent that started it, the
// session that the request names as its parent, the session whose id it shares; else what the request names, under the child's own
// names, as unguessable, or generic.
func (r *reading) above() []mooring.Alias {
	if len(r.ids) == 0 {
		return nil
	}
	var out []mooring.Alias
	if r.agent != "" && r.agentOf != "" && r.agentOf != r.agent {
		out = append(out, agentAlias(r.ids[0].value, r.agentOf))
	}
	for _, p := range r.parents {
		out = append(out, r.called(p)...)
	}
	if r.agent != "" {
		out = append(out, r.ids[0].alias)
	}
	return compact(out)
}

// called are the names under which a parent's id may be known.
func (r *reading) called(p seen) []mooring.Alias {
	if p.name == "x-portkey-parent-span-id" {
		return []mooring.Alias{{Class: mooring.ClassName + "x-portkey-trace-id", Value: p.value}}
	}
	generic := signal{scope: scopeGeneric}
	out := make([]mooring.Alias, 0, len(r.ids)+1)
	for _, id := range r.ids {
		out = append(out, id.signal.alias(p.value))
	}
	return append(out, generic.alias(p.value))
}

func compact(all []mooring.Alias) []mooring.Alias {
	var out []mooring.Alias
	for _, a := range all {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// attach puts a session below its parent: a new one, or one that began before its parent was known. A parent that is not there yet
// leaves a sub-agent of its own, until a later turn names one that is.
func (e *Engine) attach(ctx context.Context, q Request, r *reading, f *Finding) error {
	s := &f.Known.Session
	if f.New && r.agent != "" {
		s.Key = f.key
	}
	below := r.nested() || r.sub && !r.unplaced
	if f.New && below {
		s.Relation = mooring.RelationSubagent
	}
	relation, wanted := mooring.RelationSubagent, r.above()
	if f.New && !below && r.forked != nil {
		relation, wanted = mooring.RelationFork, r.called(*r.forked)
	}
	orphan := f.New || s.Relation == mooring.RelationSubagent || s.Relation == mooring.RelationMain && r.nested()
	if s.Parent != "" || !orphan || len(wanted) == 0 {
		return nil
	}
	p, by, err := e.firstOf(ctx, q.Tenant, wanted, s.ID)
	if err != nil || p.ID == "" {
		return err
	}
	s.Parent, s.Root, s.Relation, f.Attach = p.ID, p.Root, relation, !f.New
	r.placed(by, p.ID)
	return nil
}

// firstOf gives the first session of these names that may stand above another one: not itself, and not below it.
func (e *Engine) firstOf(ctx context.Context, t mooring.Tenant, wanted []mooring.Alias, below mooring.SessionID) (Known, mooring.Alias, error) {
	wanted = slices.DeleteFunc(wanted, func(a mooring.Alias) bool { return !e.names(t, a) })
	hits, err := e.lookup(ctx, t, wanted)
	if err != nil {
		return Known{}, mooring.Alias{}, err
	}
	for _, a := range wanted {
		id, ok := hits[a]
		if !ok || id == below {
			continue
		}
		p, err := e.session(ctx, t, id)
		if mooring.KindOf(err) == mooring.KindNotFound {
			continue
		}
		if err != nil || p.Root != below {
			return p, a, err
		}
	}
	return Known{}, mooring.Alias{}, nil
}

// placed tells which signal named the parent that was found.
func (r *reading) placed(a mooring.Alias, id mooring.SessionID) {
	for i := range r.ignored {
		ev := &r.ignored[i]
		if ev.Says == string(saysParent) && strings.HasPrefix(a.Value, ev.Value) && ev.Points == "" {
			ev.Points = string(id)
		}
	}
}

// agentAlias names a sub-agent that shares its session's id. The parts are joined by a byte that no header can hold.
func agentAlias(session, agent string) mooring.Alias {
	return mooring.Alias{Class: mooring.ClassName + headerAgent, Value: session + "\x00" + agent}
}

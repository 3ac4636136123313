package identify

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"mooring"
)

// seen is a signal with the id that a request carries in it.
type seen struct {
	*signal
	value string
	alias mooring.Alias
}

// reading is what the signals of one request say, the strongest first. It knows nothing of what is stored.
type reading struct {
	exact string // X-Mooring-Session
	ids   []seen

	agent   string // the sub-agent of the session that the first id names; empty for the session itself
	agentOf string // the agent that started this one
	parents []seen // ids of the session above; none is the session's own
	forked  *seen  // the thread that this one was copied from; nil where the request names none

	kind     mooring.Kind // what the request says that it is for; empty where it says nothing
	sub      bool         // the session is a sub-agent's, whatever its request is for
	unplaced bool         // a sub-agent's request under the id of the session above it, without an id of its own
	lean     bool         // its program offers tools in every turn of a conversation, and this request offers none

	project string
	client  string

	told   []instruction // how the model is to behave
	traits traits        // what the request is like, without its opening

	ignored []mooring.Evidence // what else was seen: placeholders, agents, parents, kinds, projects, names that are never used
}

// sighting is a row of the catalogue that a request carries.
type sighting struct {
	*signal
	value string
	label string // as evidence names it
	key   string // the header as it was spelled; empty for a field
}

// read collects the signals of a request. It refuses ids that could not be kept, and one header that says two things.
func (e *Engine) read(q Request) (*reading, error) {
	all, err := once(e.sightings(q))
	if err != nil {
		return nil, err
	}
	r, in := &reading{}, texts{}
	for i := range all {
		s := &all[i]
		if s.beside != "" && !slices.ContainsFunc(all, func(o sighting) bool { return strings.HasPrefix(o.name, s.beside) }) {
			continue
		}
		if err := r.take(s, all, &in); err != nil {
			return nil, err
		}
	}
	r.relate()
	e.judge(q, r)
	r.told = e.instructions(q)
	r.traits = e.traitsOf(q, r.client, r.told)
	e.describe(q, r, all, &in)
	return r, nil
}

// sightings are the rows of the catalogue that a request carries, in their order.
func (e *Engine) sightings(q Request) []sighting {
	all := make([]sighting, 0, 2*len(q.Header))
	for key, values := range q.Header {
		name, n := canonical(key)
		rows, known := e.byHeader[string(name[:n])]
		if known {
			for _, at := range rows {
				all = add(all, &e.signals[at], e.signals[at].label, key, values)
			}
			continue
		}
		if s := e.wildcard(name[:n]); s != nil {
			label := s.label
			if s.says != saysNever {
				label = s.labelled(string(name[:n]))
			}
			all = add(all, s, label, key, values)
		}
	}
	for _, f := range q.Wire.Fields {
		for _, at := range e.byField[f.Path] {
			all = append(all, sighting{signal: &e.signals[at], value: f.Value, label: e.signals[at].label})
		}
	}
	slices.SortFunc(all, func(x, y sighting) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), strings.Compare(x.label, y.label), strings.Compare(y.value, x.value))
	})
	return all
}

func add(all []sighting, s *signal, label, key string, values []string) []sighting {
	for _, v := range values {
		all = append(all, sighting{signal: s, value: bare(v), label: label, key: key})
	}
	return all
}

// once leaves one of the sightings of each name, which other spellings or empty values may repeat. An id may not be there with two
// values; what else is there twice says nothing that could be relied on, and its first value in their order is as good as any.
func once(all []sighting) ([]sighting, error) {
	out := all[:0]
	for _, s := range all {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].rank != s.rank || out[last].label != s.label:
			out = append(out, s)
		case out[last].value == "" || s.value == "" || s.value == out[last].value: // the one with a value comes first
		case s.parse == nil && s.inside == "" && (s.says == saysSession || s.says == saysAgent || s.says == saysParent):
			return nil, mooring.Errorf(mooring.CodeInvalidSessionID, "The header %s is there twice with two values; send one.", http.CanonicalHeaderKey(s.key))
		}
	}
	return out, nil
}

// take adds what one row says.
func (r *reading) take(s *sighting, all []sighting, in *texts) error {
	if s.says == saysNever {
		r.neverUse(s, all)
		return nil
	}
	v := s.content(in)
	if v == "" {
		return nil
	}
	switch s.says {
	case saysKind:
		r.hear(s, v)
		return nil
	case saysProject, saysClient, saysNever:
		return nil // once it is known what else is there
	case saysSession, saysAgent, saysParent:
	}
	if placeholder(v) {
		if s.says == saysSession && s.tier != tierExact {
			r.note(s, v[:min(len(v), MaxID)], "ignored", "a placeholder is no id")
		}
		return nil
	}
	if s.shape != nil && !s.shape(v) {
		if s.name != fieldUser {
			r.note(s, "", "ignored", "its value does not look like the id of one conversation")
		}
		return nil
	}
	if err := s.check(v); err != nil {
		return err
	}
	r.named(s, v)
	return nil
}

// named adds an id.
func (r *reading) named(s *sighting, v string) {
	id := seen{signal: s.own(), value: v}
	switch {
	case s.tier == tierExact && s.says == saysSession:
		r.exact = v
	case s.says == saysSession:
		id.alias = id.signal.alias(v)
		r.ids = append(r.ids, id)
	case s.says == saysAgent:
		r.part(s, v)
	case s.fork:
		r.forked = &id
		r.note(s, v, "decided", "it names the conversation that this one was copied from")
	case s.name == headerParentAgent:
		r.agentOf = v
		r.note(s, v, "decided", "it names the agent that started this one")
	default:
		r.parents = append(r.parents, id)
		r.note(s, v, "decided", "it names the session above")
	}
}

// part takes the name of a part of the session that another id names.
func (r *reading) part(s *sighting, v string) {
	if s.name == headerAgent {
		r.agent = v
	} else {
		r.path(v)
	}
	if r.agent != "" {
		r.note(s, v, "decided", "it names a sub-agent of the session")
	}
}

// own is the row for the one name that was seen, where the row stands for many.
func (s *sighting) own() *signal {
	if !strings.Contains(s.name, anyValue) {
		return s.signal
	}
	row := *s.signal
	row.name, row.label = strings.TrimPrefix(s.label, "header:"), s.label
	return &row
}

// content is what counts of a value.
func (s *sighting) content(in *texts) string {
	v := s.value
	if s.inside != "" {
		v = in.member(v, s.inside)
	}
	if s.parse != nil && v != "" {
		v = s.parse(in, v)
	}
	return bare(v)
}

// note adds evidence about what is no id of the session.
func (r *reading) note(s *sighting, value, use, why string) {
	r.ignored = append(r.ignored, mooring.Evidence{Signal: s.label, Says: string(s.says), Value: value, Use: use, Why: why})
}

// neverUse tells that a name was seen whose value decides nothing; the value itself is not kept.
func (r *reading) neverUse(s *sighting, all []sighting) {
	for i := range all { // another row of the same name may have used it
		if o := &all[i]; o.name == s.name && o.place == s.place && o.says != saysNever && slices.ContainsFunc(r.ids, func(id seen) bool { return id.signal == o.signal }) {
			return
		}
	}
	r.note(s, "", "never", s.why)
}

// longestName bounds the names of the catalogue and of the configuration, so that looking one up needs no memory.
const longestName = 64

// canonical gives a header name in lower case with hyphens: case, "-" and "_" do not tell names apart.
func canonical(name string) (buf [longestName]byte, n int) {
	if len(name) > longestName {
		return buf, 0
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '_':
			c = '-'
		}
		buf[i] = c
	}
	return buf, len(name)
}

// lowerName is canonical for a name of the catalogue or the configuration.
func lowerName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// wildcard finds the row that stands for this name among others; nil where there is none.
func (e *Engine) wildcard(name []byte) *signal {
	for _, at := range e.wild {
		s := &e.signals[at]
		before, after, _ := strings.Cut(s.name, anyValue)
		if len(name) <= len(before)+len(after) || string(name[:len(before)]) != before || string(name[len(name)-len(after):]) != after {
			continue
		}
		if s.says == saysSession && e.apart.sensitive(name[:len(name)-len(after)]) {
			continue
		}
		return s
	}
	return nil
}

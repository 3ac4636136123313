package identify

import (
	"net/http"
	"strings"

	"mooring"
	"mooring/internal/wire"
)

// seen is a signal with the id that a request carries in it.
type seen struct {
	*signal
	value string
	alias mooring.Alias
}

// reading is what the signals of one request say, strongest first.
type reading struct {
	exact   string // X-Mooring-Session
	ids     []seen
	ignored []mooring.Evidence
	agent   string // the sub-agent of the session that the first id names
	parent  string // id of the parent's session
	agentOf string // the agent that started this one
}

// read collects the signals of a request. It refuses ids that could not be kept, and one header that says two things.
func (e *Engine) read(header http.Header, fields []wire.Field) (*reading, error) {
	found := make([]string, len(e.signals))
	extra := map[string]string{}
	for key, values := range header {
		name, n := canonical(key)
		at, ok := e.byHeader[string(name[:n])]
		if !ok {
			continue
		}
		have := extra[string(name[:n])]
		if at != companion {
			have = found[at]
		}
		v, err := single(key, have, values)
		switch {
		case err != nil:
			return nil, err
		case at == companion:
			extra[string(name[:n])] = v
		default:
			found[at] = v
		}
	}
	for _, f := range fields {
		if at, ok := e.byField[f.Path]; ok && found[at] == "" {
			found[at] = f.Value
		}
	}
	r, err := companions(extra)
	if err != nil {
		return nil, err
	}
	if err = e.sort(r, found); err == nil {
		r.parent = r.parentIn(extra)
	}
	return r, err
}

// companions checks the names that travel with an id as ids are checked, and begins a reading with them.
func companions(extra map[string]string) (*reading, error) {
	for name, v := range extra {
		if placeholder(v) {
			delete(extra, name)
		} else if err := checkValue(name, v); err != nil {
			return nil, err
		}
	}
	return &reading{exact: extra[lowerName(headerMooring)], agent: extra[headerAgent], agentOf: extra[headerParentAgent]}, nil
}

// parentIn gives the id that the first of the parent headers names. No session is its own parent: some programs name the root
// of a tree in every request, the root's included.
func (r *reading) parentIn(extra map[string]string) string {
	for _, name := range parents() {
		if v := extra[name]; v != "" && len(r.ids) > 0 && v != r.ids[0].value {
			return v
		}
	}
	return ""
}

// sort checks the values found and puts the usable ones in their order.
func (e *Engine) sort(r *reading, found []string) error {
	for i, v := range found {
		s := &e.signals[i]
		if v == "" {
			continue
		}
		if s.parse != nil {
			if v = s.parse(v); v == "" {
				continue
			}
		}
		if v = bare(v); placeholder(v) {
			r.ignored = append(r.ignored, mooring.Evidence{Signal: s.String(), Value: v[:min(len(v), MaxID)], Use: "ignored", Why: "a placeholder is no id"})
			continue
		}
		if err := s.check(v); err != nil {
			return err
		}
		r.ids = append(r.ids, seen{signal: s, value: v, alias: s.alias(v)})
	}
	return nil
}

// single gives the one value of a header, of which another spelling may have said have. Empty ones say nothing.
func single(name, have string, values []string) (string, error) {
	for _, v := range values {
		v = bare(v)
		if v != "" && have != "" && v != have {
			return "", mooring.Errorf(mooring.CodeInvalidSessionID, "The header %s is there twice with two values; send one.", http.CanonicalHeaderKey(name))
		}
		if v != "" {
			have = v
		}
	}
	return have, nil
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

// clientOf names the client program by the first product of its User-Agent.
func clientOf(userAgent string) string {
	product, _, _ := strings.Cut(userAgent, "/")
	product, _, _ = strings.Cut(product, " ")
	name := strings.ToLower(product)
	if known, ok := map[string]string{"claude-cli": "claude-code", "codex_cli_rs": "codex", "codex_exec": "codex", "qwencode": "qwen-code"}[name]; ok {
		return known
	}
	if len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}) {
		return ""
	}
	return name
}

package wire

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"mooring"
)

// Clients send a conversation again and again, with little that is new at its end. So what a tenant's requests held before is
// known by a key of its bytes, and a body is read with a hole in the place of each known piece: {}, which is a value wherever
// the piece was one. What remains is validated as ever. Where the holes are is a guess that costs little; that each of them
// was met as a value is what makes the reading sound. Anything else, and any error, and the body is read whole.

// Known is what a cache keeps of bytes that were seen before.
type Known struct {
	Digest Digest // zero where none was made
	depth  uint32 // of nesting
	count  uint32 // of a list's elements
	role   knownRole
	facts  knownFact
}

type knownFact uint8

const (
	factMessage knownFact = 1 << iota // an entry of a conversation, valid as such
	factValue                         // the value of another member, valid JSON
	factResult                        // what a tool gave
	factAside                         // an item that is no part of what is said
	factDigest
)

type knownRole uint8

const (
	otherRole knownRole = iota
	userRole
	assistantRole
	toolRole
	systemRole
	developerRole
)

func (k knownRole) name() string {
	return [...]string{"", roleUser, roleAssistant, roleTool, roleSystem, roleDeveloper}[k]
}

func knownRoleOf(role string) knownRole {
	for k := userRole; k <= developerRole; k++ {
		if k.name() == role {
			return k
		}
	}
	return otherRole
}

const (
	holeText     = "{}"
	usualMessage = 800     // bytes, to guess how many there are
	mostPieces   = 4096    // of a body; what stands behind them is read, so a flood of tiny messages costs no more than that
	pieceSize    = 4 << 10 // from how many bytes on the value of a member is a piece: tools, a system prompt
	pieceDepth   = 9000    // deeper values are always read: jsontext has a bound of its own
)

// stretch is a part of a body that is worth knowing: a message, or a large value.
type stretch struct {
	raw   []byte // the span of the body
	at    int    // where it begins there
	hole  int    // where its hole begins in what is read; -1 where it is read itself
	by    *Digester
	key   [16]byte
	known Known
}

// remembered says what the digester knows of a message; nil where it was not decoded by it, or its bytes were replaced since.
func (d *Digester) remembered(m *Message) *stretch {
	p := m.seen
	if p == nil || p.by != d || len(p.raw) != len(m.Raw) || &p.raw[0] != &m.Raw[0] {
		return nil
	}
	return p
}

// Decode is wire's Decode with the same results, for a body of this digester's tenant: what it has seen before is not read
// again. The messages of the request remember what is known of them, for Messages.
func (d *Digester) Decode(p mooring.Protocol, body []byte, lim Limits) (*Request, error) {
	dia, ok := dialectOf(p)
	if d.cache == nil || !ok {
		return Decode(p, body, lim)
	}
	w := d.work()
	defer d.done(w)
	pieces := d.pieces(p, dia, body)
	read := body
	if slices.ContainsFunc(pieces, func(s stretch) bool { return s.hole >= 0 }) {
		w.skeleton = skeleton(w.skeleton[:0], body, pieces)
		read = w.skeleton
	}
	if !utf8.Valid(read) {
		return Decode(p, body, lim)
	}
	r := newReader(read, lim)
	r.body, r.pieces, r.dialect, r.req = body, pieces, dia, &Request{Protocol: p, Messages: make([]Message, 0, len(pieces))}
	req, err := r.request()
	if err != nil || !r.met() {
		return Decode(p, body, lim)
	}
	if len(req.Messages) == 0 {
		req.Messages = nil
	}
	for i := range pieces {
		if k := &pieces[i]; k.hole < 0 && k.known.facts&(factMessage|factValue) != 0 {
			d.cache.Set(k.key, k.known)
		}
	}
	return req, nil
}

// pieces looks for the pieces of a body, in their order. The body may be anything: a piece can be found where none is.
func (d *Digester) pieces(p mooring.Protocol, dia dialect, body []byte) []stretch {
	c := cursor{b: body}
	if !c.open('{') {
		return nil
	}
	out := make([]stretch, 0, min(len(body)/usualMessage+16, mostPieces))
	for c.more() && len(out) < mostPieces {
		name := c.value()
		c.space()
		at := c.i
		if dia.lists && string(plain(name)) == dia.talk && c.open('[') {
			out = d.messagePieces(out, p, &c)
			continue
		}
		v := c.value()
		if first := kindOf(v); len(v) >= pieceSize && (first == '{' || first == '[' || first == '"') {
			out = append(out, d.piece(p, v, at, factValue))
		}
	}
	return out
}

// messagePieces adds the objects of the list that the cursor stands in.
func (d *Digester) messagePieces(out []stretch, p mooring.Protocol, c *cursor) []stretch {
	for c.more() && len(out) < mostPieces {
		start := c.i
		if v := c.value(); kindOf(v) == '{' {
			out = append(out, d.piece(p, v, start, factMessage))
		}
	}
	c.i++
	return out
}

// piece looks up what is known of bytes as a message or value.
func (d *Digester) piece(p mooring.Protocol, raw []byte, at int, as knownFact) stretch {
	out := stretch{raw: raw, at: at, hole: -1, by: d, key: d.key(p, raw)}
	if out.known, _ = d.cache.Get(out.key); out.known.facts&as != 0 {
		out.hole = 0
	}
	return out
}

// skeleton appends a body with a hole in the place of each known piece, and notes where the holes are.
func skeleton(dst, body []byte, pieces []stretch) []byte {
	from := 0
	for i := range pieces {
		p := &pieces[i]
		if p.hole < 0 {
			continue
		}
		dst = append(dst, body[from:p.at]...)
		p.hole = len(dst)
		dst = append(dst, holeText...)
		from = p.at + len(p.raw)
	}
	return append(dst, body[from:]...)
}

var errHole = errors.New("a hole is no value of its own")

// known gives the piece whose hole comes next; nil where something else does.
func (r *reader) known() *stretch {
	for r.next < len(r.pieces) && r.pieces[r.next].hole < 0 {
		r.next++
	}
	if r.next == len(r.pieces) {
		return nil
	}
	p := &r.pieces[r.next]
	from := int(r.dec.InputOffset())
	if from > p.hole || len(bytes.Trim(r.read[from:p.hole], " \t\r\n,:")) > 0 {
		return nil
	}
	return p
}

// take reads the hole of a known piece.
func (r *reader) take(p *stretch) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	if string(v) != holeText || int(r.dec.InputOffset()) != p.hole+len(holeText) {
		return errHole
	}
	if r.limit > 0 && int(p.known.depth) > r.limit-r.dec.StackDepth() || int(p.known.depth)+r.dec.StackDepth() > pieceDepth {
		return errTooDeep
	}
	r.next++
	r.ahead += len(p.raw) - len(holeText)
	return nil
}

// met says that all holes were met.
func (r *reader) met() bool { return r.known() == nil && r.next == len(r.pieces) }

// fresh gives the piece that was read whole just now; nil where it is none. Pieces come in the order of the body.
func (r *reader) fresh(at int, raw []byte) *stretch {
	for r.found < len(r.pieces) && r.pieces[r.found].at < at {
		r.found++
	}
	if r.found == len(r.pieces) {
		return nil
	}
	p := &r.pieces[r.found]
	if p.hole >= 0 || p.at != at || len(p.raw) != len(raw) {
		return nil
	}
	return p
}

// learn notes what was found about a piece that was read whole.
func (p *stretch) learn(facts knownFact, role string) {
	depth := nesting(p.raw)
	as := knownRoleOf(role)
	if depth > pieceDepth || as == otherRole && facts&factMessage != 0 {
		return
	}
	p.known.facts |= facts
	p.known.role, p.known.depth = as, uint32(depth) //nolint:gosec // bounded above
}

// fewBrackets is up to which number of brackets they are taken for nested, one in the other.
const fewBrackets = 8

// nesting is how deep a value nests at most; 0 for one that is neither list nor object.
func nesting(value []byte) int {
	if n := bytes.Count(value, []byte{'['}) + bytes.Count(value, []byte{'{'}); n <= fewBrackets {
		return n
	}
	depth, most := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = stringEnd(value, i) - 1
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

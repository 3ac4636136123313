package identify

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"mooring"
	"mooring/internal/wire"
)

// traits are what the requests of a session are like. They prove nothing; they tell apart what says the same, and a request of the
// conversation from one about it.
type traits struct {
	key     uint64   // digest of the name of the client's key
	client  uint64   // digest of the client program's name
	tools   bool     // tools are offered
	stream  bool     // a stream is asked for
	system  []uint64 // a sample of how the instructions speak, in order
	opening []uint64 // the least grams of the first thing that was said
}

// traitGrams is how many grams of a text are kept: enough to tell two apart, and to see one in the other.
const traitGrams = 8

// traitsOf gives the traits of a request, without its opening.
func (e *Engine) traitsOf(q Request, client string, told []instruction) traits {
	d := e.Digester(q.Tenant)
	t := traits{tools: q.Wire.Tools > 0, stream: q.Wire.MayStream()}
	t.key, _ = d.Wording([]byte(q.Key))
	t.client, _ = d.Wording([]byte(client))
	for i := range told {
		t.system = append(t.system, told[i].sample...)
	}
	t.system = least(t.system, traitGrams)
	return t
}

// instruction is what is made out of a text that tells the model how to behave.
type instruction struct {
	sample []uint64 // of how it speaks
	folder string   // what it says is worked on; empty for nothing
}

// sampleKey is a text of a tenant.
type sampleKey struct {
	tenant mooring.Tenant
	text   [2]uint64
}

const (
	// longestInstruction bounds how much of an instruction is sampled, in bytes: programs begin with what they are.
	longestInstruction = 8 << 10
	// shortInstruction is up to how many bytes one is read each time: that costs little, and a line that bills a request never comes again.
	shortInstruction = 256
)

// instructions reads what a request tells the model beside the conversation.
func (e *Engine) instructions(q Request) []instruction {
	texts := q.Wire.Instructions()
	out := make([]instruction, len(texts))
	for i, text := range texts {
		out[i] = e.instruction(q.Tenant, text)
	}
	return out
}

// instruction reads a JSON string, and remembers what it found: programs send the same one again and again.
func (e *Engine) instruction(t mooring.Tenant, text []byte) instruction {
	if len(text) <= shortInstruction {
		return e.readInstruction(t, text)
	}
	key := sampleKey{t, [2]uint64{maphash.Bytes(e.seeds[0], text), maphash.Bytes(e.seeds[1], text)}}
	if known, ok := e.samples.GetIfPresent(key); ok {
		return known
	}
	out := e.readInstruction(t, text)
	e.samples.Set(key, out)
	return out
}

func (e *Engine) readInstruction(t mooring.Tenant, text []byte) instruction {
	words := wire.Text(text)
	d := e.Digester(t)
	words = words[:min(len(words), longestInstruction)]
	sample := least(d.Manner(words), traitGrams)
	if all, n := d.Wording(words); len(sample) == 0 && n > 0 {
		sample = []uint64{all}
	}
	return instruction{sample, folderIn(text)}
}

// leastOf is a sample of a text that is the same wherever the text is: its least grams. A text of few words is one gram.
func leastOf(d *wire.Digester, text []byte) []uint64 {
	out := least(d.Grams(text), traitGrams)
	if len(out) == 0 {
		if all, n := d.Wording(text); n > 0 {
			out = []uint64{all}
		}
	}
	return out
}

// least gives the n least grams, each once, in order.
func least(grams []uint64, n int) []uint64 {
	out := slices.Clone(grams)
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(n, len(out))]
}

// shared is how much of the smaller of two samples the other one has, 1 for two that are empty.
func shared(a, b []uint64) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	n := 0
	for _, g := range a {
		if slices.Contains(b, g) {
			n++
		}
	}
	return float64(n) / float64(max(len(a), len(b)))
}

// alike is how much two requests look as if they came from the same place, from 0 to 1.
func (t *traits) alike(o *traits) float64 {
	out := 0.6 * shared(t.system, o.system)
	for _, same := range []bool{t.tools == o.tools, t.client == o.client, t.key == o.key} {
		if same {
			out += 0.4 / 3
		}
	}
	return out
}

// Bits of the first byte of traits as they are kept.
const (
	traitTools  = 1
	traitStream = 2
)

func (t *traits) encode() []byte {
	out := []byte{0}
	if t.tools {
		out[0] |= traitTools
	}
	if t.stream {
		out[0] |= traitStream
	}
	out = binary.LittleEndian.AppendUint64(out, t.key)
	out = binary.LittleEndian.AppendUint64(out, t.client)
	out = append(out, byte(len(t.system))) //nolint:gosec // at most traitGrams
	for _, g := range t.system {
		out = binary.LittleEndian.AppendUint64(out, g)
	}
	for _, g := range t.opening {
		out = binary.LittleEndian.AppendUint64(out, g)
	}
	return out
}

// readTraits is the way back; false where there are none.
func readTraits(b []byte) (t traits, ok bool) {
	const head = 1 + 8 + 8 + 1
	if len(b) < head || len(b) < head+8*int(b[head-1]) || (len(b)-head)%8 != 0 {
		return t, false
	}
	t.tools, t.stream = b[0]&traitTools != 0, b[0]&traitStream != 0
	t.key, t.client = binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:])
	all := words(b[head:])
	t.system, t.opening = all[:b[head-1]], all[b[head-1]:]
	return t, true
}

// words are the numbers that stand in bytes.
func words(b []byte) []uint64 {
	out := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

// The index of texts: how many parts of one it is found by, and how many grams say whether the rest is there too.
const (
	sketchGrams  = 12
	spreadGrams  = 24
	longText     = 24 // grams from which on a text is found by its beginning and by its end
	wordsOfCall  = 3  // a text of fewer words is no task
	callsOfReply = 6  // texts that one answer hands over, the longest first
)

// Answer is what an answer is found by when its client sends it back.
type Answer struct {
	Self  wire.Digest // of the message
	Seen  wire.Digest // of the conversation up to it, as its client has it
	Marks []mooring.Mark
}

// Answer says what an answer is found by: the message as the upstream gave it in the protocol's JSON, which stands behind what the
// request says. prefill is the request's last message: an assistant's one goes on in the answer, and clients keep both as one message,
// or as two.
func (e *Engine) Answer(t mooring.Tenant, p mooring.Protocol, place *Place, prefill *wire.Message, answer []byte) (Answer, error) {
	d := e.Digester(t)
	self, err := d.Message(p, answer)
	if err != nil {
		return Answer{}, err
	}
	out := Answer{Self: self, Seen: d.Chain(place.Seen, self), Marks: append([]mooring.Mark{selfMark(d, self, place.Last)}, partMarks(d, answer, place)...)}
	if prefill == nil || prefill.Role != roleAssistant {
		return out, nil
	}
	whole, err := d.Message(p, wire.Continued(p, prefill.Raw, answer))
	if err != nil || whole == self {
		return out, err
	}
	apart := out.Seen
	out.Marks = append(out.Marks, selfMark(d, whole, place.Prior), mooring.Mark{Kind: mooring.ByChain, Digest: apart[:]})
	out.Self, out.Seen = whole, d.Chain(place.Above, whole)
	return out, nil
}

// partMarks are what parts of an answer are found by: its text, and the texts that it hands to tools.
func partMarks(d *wire.Digester, answer []byte, place *Place) []mooring.Mark {
	kind := mooring.ByText
	if place.Sums {
		kind = mooring.BySummary
	}
	var out []mooring.Mark
	grams := d.Passage(wire.Text(answer))
	if len(grams) >= longText {
		half := len(grams) / 2
		out = append(out, textMark(kind, grams[:half], grams), textMark(kind, grams[half:], grams))
	} else if len(grams) > 0 {
		out = append(out, textMark(kind, grams, grams))
	}
	return append(out, callMarks(d, answer)...)
}

// selfMark is the mark of an answer itself. A short one is found only with what it answers.
func selfMark(d *wire.Digester, self, before wire.Digest) mooring.Mark {
	if self.Weight() >= ownWeight {
		return mooring.Mark{Kind: mooring.BySelf, Digest: self[:]}
	}
	pair := d.Chain(before, self)
	return mooring.Mark{Kind: mooring.ByPair, Digest: pair[:]}
}

// ownWeight is from which weight on an answer is found by itself alone.
const ownWeight = 2

// textMark is the least gram of a part, with a sample of the whole.
func textMark(kind mooring.ChainKind, part, whole []uint64) mooring.Mark {
	m := mooring.Mark{Kind: kind, Digest: gramKey(slices.Min(part))}
	for _, g := range least(whole, sketchGrams) {
		m.Sketch = binary.LittleEndian.AppendUint64(m.Sketch, g)
	}
	return m
}

func marked(list []mooring.Mark, key []byte) bool {
	return slices.ContainsFunc(list, func(o mooring.Mark) bool { return string(o.Digest) == string(key) })
}

// freeKey is the least gram by which no other text of the same answer is found; nil where there is none.
func freeKey(taken []mooring.Mark, grams []uint64) []byte {
	for _, g := range least(grams, len(grams)) {
		if key := gramKey(g); !marked(taken, key) {
			return key
		}
	}
	return nil
}

// spread is a sample of a text from its beginning to its end: of texts that are made from one mould it shows where they differ.
func spread(grams []uint64) []byte {
	n := min(len(grams), spreadGrams)
	out := make([]byte, 0, 8*n)
	for i := range n {
		at := 0
		if n > 1 {
			at = i * (len(grams) - 1) / (n - 1)
		}
		out = binary.LittleEndian.AppendUint64(out, grams[at])
	}
	return out
}

func gramKey(g uint64) []byte { return binary.LittleEndian.AppendUint64(nil, g) }

func callMarks(d *wire.Digester, answer []byte) []mooring.Mark {
	texts := wire.Handed(answer)
	slices.SortStableFunc(texts, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	var out []mooring.Mark
	for _, text := range texts {
		if len(out) == callsOfReply {
			break
		}
		var m mooring.Mark
		grams := d.Grams(text)
		if all, n := d.Wording(text); len(grams) > 0 {
			m = mooring.Mark{Kind: mooring.ByCall, Digest: freeKey(out, grams), Sketch: spread(grams)}
		} else if n >= wordsOfCall {
			m = mooring.Mark{Kind: mooring.ByCall, Digest: gramKey(all)}
		}
		if m.Digest != nil && !marked(out, m.Digest) {
			out = append(out, m)
		}
	}
	return out
}

// openingMark is what a session is found by that a request speaks about.
func openingMark(d *wire.Digester, text []byte) []mooring.Mark {
	grams := d.Grams(text)
	if len(grams) == 0 {
		return nil
	}
	return []mooring.Mark{textMark(mooring.ByOpening, grams, grams)}
}

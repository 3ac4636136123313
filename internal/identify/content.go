package identify

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/maypok86/otter/v2"

	"mooring"
	"mooring/internal/wire"
)

// answerKey is a conversation up to an answer, as its client has it.
type answerKey struct {
	tenant mooring.Tenant
	seen   wire.Digest
}

// answered is the session that gave such an answer.
type answered struct {
	session mooring.SessionID
	shared  bool // others gave the same one in the same conversation
}

// remember notes which session a conversation belongs to.
func (e *Engine) remember(t mooring.Tenant, seen wire.Digest, id mooring.SessionID) {
	e.answers.Compute(answerKey{t, seen}, func(old answered, found bool) (answered, otter.ComputeOp) {
		return answered{session: id, shared: found && (old.shared || old.session != id)}, otter.WriteOp
	})
}

// The limits of what one look at the index asks for.
const (
	lookBack    = 8  // the last answers of a request: an edit rarely reaches further back
	lookFurther = 16 // answers spread over the rest
	openingKeys = 24 // parts of what a request opens with
	openingLine = 6  // and lines of it that are asked for as they are
	maxRivals   = 32 // sessions that are compared
)

// look is what the index knows of a request's messages.
type look struct {
	rivals []*rival // sessions that gave answers which it holds, the likeliest first
	quotes []quote  // texts of the tenant's sessions that its opening holds
}

// of gives what a session has of the request; nil where it has nothing.
func (l *look) of(s mooring.SessionID) *rival {
	for _, r := range l.rivals {
		if r.session == s {
			return r
		}
	}
	return nil
}

// rival is a session that gave answers which a request holds.
type rival struct {
	session mooring.SessionID
	message mooring.MessageID // the last of them that shows a place; empty for the answer that opened the session, or where none does
	from    int               // the position in the talk behind it
	weight  int               // how much of the request it explains
	whole   bool              // the conversation up to that answer is the session's from its beginning
	own     bool              // an answer is long enough to be found by itself
	newest  mooring.MessageID
}

// quote is a text that stands in the opening of a request.
type quote struct {
	kind    mooring.ChainKind
	session mooring.SessionID
	message mooring.MessageID
	part    float64 // how much of the text is there
	size    int     // how many samples that was judged by; 0 where it is there word for word
}

// opens is 1 for a text that a session opens with.
func (q *quote) opens() int {
	if q.kind == mooring.ByOpening {
		return 1
	}
	return 0
}

// asked is what a key of the index is asked for.
type asked struct {
	kind mooring.ChainKind
	at   int // the answer's position in the talk; -1 for what the request opens with
}

// look asks the index for all that may tell the session, in one read.
func (a *alignment) look(ctx context.Context, opening []byte) (*look, error) {
	if a.looked != nil {
		return a.looked, nil
	}
	keys := map[string]asked{}
	for _, i := range a.spread() {
		chain, self := a.chain[i], selfMark(a.digester, a.digests[a.talk[i]], a.before(i))
		keys[string(chain[:])] = asked{mooring.ByChain, i}
		if _, taken := keys[string(self.Digest)]; !taken { // the last one counts
			keys[string(self.Digest)] = asked{self.Kind, i}
		}
	}
	if opening != nil {
		if d, err := a.digester.Message(a.protocol, opening); err == nil { // else it is no answer of this product
			keys[string(d[:])] = asked{mooring.BySelf, -1}
		}
	}
	text, grams := a.opening(), a.openingGrams()
	a.openingKeys(keys, text, grams)
	list := make([][]byte, 0, len(keys))
	for k := range keys {
		list = append(list, []byte(k))
	}
	entries, err := a.engine.Store.Chain(ctx, a.tenant, list)
	if err != nil {
		return nil, err
	}
	a.looked = &look{rivals: a.rivals(entries, keys), quotes: quotesIn(entries, keys, grams)}
	return a.looked, nil
}

// openingKeys adds the keys of texts that a request may open with: parts of them, or the whole of a short one.
func (a *alignment) openingKeys(keys map[string]asked, text []byte, grams []uint64) {
	for _, g := range least(grams, openingKeys) {
		keys[string(gramKey(g))] = asked{mooring.ByText, -1}
	}
	lines := bytes.Split(text, []byte{'\n'})
	for _, line := range append(lines[:min(len(lines), openingLine)], text) {
		if all, n := a.digester.Wording(line); n >= wordsOfCall {
			keys[string(gramKey(all))] = asked{mooring.ByCall, -1}
		}
	}
}

// spread are the positions of the answers to look for, the last first.
func (a *alignment) spread() []int {
	answers := a.answers()
	if len(answers) <= lookBack {
		return answers
	}
	out, rest := slices.Clone(answers[:lookBack]), answers[lookBack:]
	for step, i := max(1, (len(rest)+lookFurther-1)/lookFurther), 0; i < len(rest); i += step {
		out = append(out, rest[i])
	}
	return out
}

// before is the digest of the message that an answer answers; zero where it opens the talk.
func (a *alignment) before(i int) wire.Digest {
	if i == 0 {
		return wire.Digest{}
	}
	return a.digests[a.talk[i-1]]
}

// opening is what a request says before the first answer in it.
func (a *alignment) opening() []byte {
	if a.opened == nil {
		a.opened = append([]byte{}, a.readOpening()...)
	}
	return a.opened
}

func (a *alignment) openingGrams() []uint64 {
	if a.grams == nil {
		a.grams = append([]uint64{}, a.digester.Grams(a.opening())...)
	}
	return a.grams
}

func (a *alignment) readOpening() []byte {
	var out []byte
	for _, at := range a.talk {
		if a.messages[at].Role == roleAssistant && out != nil {
			break
		}
		text := wire.Text(a.messages[at].Raw)
		if len(text) > 0 && len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, text...)
	}
	return out
}

// found is a place that one answer of a request has in a session.
type found struct {
	messages []mooring.MessageID // the newest first
	kind     mooring.ChainKind
}

// rivals weighs the sessions that hold answers of the request.
func (a *alignment) rivals(entries []mooring.ChainEntry, keys map[string]asked) []*rival {
	places := map[mooring.SessionID]map[int]*found{}
	for i := range entries {
		entry := &entries[i]
		use, known := keys[string(entry.Digest)]
		if !known || entry.Kind > mooring.ByPair || entry.Kind != use.kind {
			continue
		}
		at := places[entry.Session]
		if at == nil {
			if len(places) >= maxRivals && (a.session == nil || a.session.ID != entry.Session) {
				continue
			}
			at = map[int]*found{}
			places[entry.Session] = at
		}
		p := at[use.at]
		switch {
		case p == nil || p.kind != mooring.ByChain && entry.Kind == mooring.ByChain:
			at[use.at] = &found{[]mooring.MessageID{entry.Message}, entry.Kind}
		case p.kind == entry.Kind:
			p.messages = append(p.messages, entry.Message)
		}
	}
	out := make([]*rival, 0, len(places))
	for s, at := range places {
		out = append(out, a.weigh(s, at))
	}
	slices.SortFunc(out, func(x, y *rival) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(y.from, x.from), cmp.Compare(y.newest, x.newest))
	})
	return out
}

// info is how much a message says, in bytes at most, as far as its digest tells.
func info(d wire.Digest) int { return [...]int{8, 40, 120, 200}[d.Weight()] }

// enough is how much has to agree where what stands before does not.
const enough = 100

func (a *alignment) info(i int) int { return info(a.digests[a.talk[i]]) }

// weigh adds up what of a request a session explains: all up to the last answer that it knows with the whole conversation before
// it, and the single answers behind that.
func (a *alignment) weigh(s mooring.SessionID, at map[int]*found) *rival {
	r := &rival{session: s}
	whole := -1
	for i, p := range at {
		if p.kind == mooring.ByChain {
			whole = max(whole, i)
		}
	}
	for i := range whole + 1 {
		r.weight += a.info(i)
	}
	for i, p := range at {
		r.newest = max(r.newest, p.messages[0])
		if i > whole && i >= 0 {
			r.weight += a.info(i)
			if p.kind == mooring.ByPair {
				r.weight += info(a.before(i))
			}
			r.own = r.own || p.kind == mooring.BySelf
		}
		shows := p.kind == mooring.ByChain || len(p.messages) == 1
		if shows && i+1 >= r.from && (p.messages[0] != "" || i < 0) {
			r.message, r.from, r.whole = p.messages[0], i+1, p.kind == mooring.ByChain || i < 0
		}
	}
	if at[-1] != nil { // the answer that opened the session is that one's alone
		r.whole, r.weight = true, max(r.weight, enough)
	}
	return r
}

// quotesIn gives the texts that the request's opening holds, the fullest and newest first; what sessions open with comes last, for many
// open alike.
func quotesIn(entries []mooring.ChainEntry, keys map[string]asked, grams []uint64) []quote {
	have := make(map[uint64]struct{}, len(grams))
	for _, g := range grams {
		have[g] = struct{}{}
	}
	var out []quote
	for i := range entries {
		entry := &entries[i]
		if use, known := keys[string(entry.Digest)]; !known || use.at >= 0 || entry.Kind < mooring.ByText || entry.Message == "" {
			continue
		}
		q := quote{kind: entry.Kind, session: entry.Session, message: entry.Message, part: 1}
		if sample := words(entry.Sketch); len(sample) > 0 {
			n := 0
			for _, g := range sample {
				if _, ok := have[g]; ok {
					n++
				}
			}
			q.part, q.size = float64(n)/float64(len(sample)), len(sample)
		}
		if !slices.ContainsFunc(out, func(o quote) bool { return o.message == q.message && o.kind == q.kind && o.part >= q.part }) {
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(x, y quote) int {
		return cmp.Or(x.opens()-y.opens(), cmp.Compare(y.part, x.part), cmp.Compare(y.message, x.message))
	})
	return out
}

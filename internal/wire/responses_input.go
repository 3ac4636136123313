package wire

// responsesInput reads the input of a response: a text, or a list of items. There may be none: the conversation is at the server
// then, or a client warms it up. Another value is the upstream's to judge.
func responsesInput(r *reader) error {
	if r.dec.PeekKind() == '[' {
		return r.items()
	}
	v, err := r.value()
	if err == nil && kindOf(v) == '"' && len(v) > len(`""`) {
		r.req.Messages = append(r.req.Messages, Message{Role: roleUser, Raw: v, At: r.offset() - len(v)})
	}
	return err
}

// answerItems is a run of items that are one answer.
type answerItems struct {
	start, end int // in the body
	count      int
	said       bool     // one of them is more than an aside
	seen       *stretch // of the only one
}

// items reads a list of items. What the model says in one go is one message, whatever stands in it: an answer is one too.
func (r *reader) items() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	start := r.offset() - 1
	var run answerItems
	for index := 0; r.dec.PeekKind() != ']'; index++ {
		it, err := r.item(index)
		if err != nil {
			return err
		}
		at := r.offset() - len(it.span)
		if it.role != roleAssistant {
			r.close(&run)
			r.req.Messages = append(r.req.Messages, Message{Role: it.role, Raw: it.span, At: at, Result: it.role == roleTool, seen: it.seen})
			continue
		}
		if run.count == 0 {
			run.start, run.seen = at, it.seen
		}
		run.count, run.end, run.said = run.count+1, at+len(it.span), run.said || it.said
	}
	r.close(&run)
	_, err := r.dec.ReadToken()
	r.req.TalkAt = [2]int{start, r.offset()}
	return err
}

// close makes a message of a run. A run of nothing but asides is none: the answer had no words, and a client that keeps its
// reasoning has the same conversation as one that does not.
func (r *reader) close(run *answerItems) {
	items := *run
	*run = answerItems{}
	if !items.said {
		return
	}
	m := Message{Role: roleAssistant, Raw: r.body[items.start:items.end], At: items.start, seen: items.seen}
	if items.count > 1 {
		list := make([]byte, 0, len(m.Raw)+len("[]"))
		m.Raw, m.At, m.seen = append(append(append(list, '['), m.Raw...), ']'), -1, nil
	}
	r.req.Messages = append(r.req.Messages, m)
}

// inputItem is one item of a list.
type inputItem struct {
	span []byte
	role string
	said bool // it is more than an aside
	seen *stretch
}

func (r *reader) item(index int) (inputItem, error) {
	if p := r.known(); p != nil && p.known.facts&factMessage != 0 {
		return inputItem{span: p.raw, role: p.known.role.name(), said: p.known.facts&factAside == 0, seen: p}, r.take(p)
	}
	if r.dec.PeekKind() != '{' {
		v, err := r.value()
		return inputItem{span: v, role: speakerOf(v), said: true}, err
	}
	var kind, role []byte
	odd := false
	span, err := r.object(func(name []byte) error {
		isKind, isRole, isContent := string(name) == "type", string(name) == "role", string(name) == "content"
		v, err := r.value()
		switch {
		case isKind:
			kind = plain(v)
		case isRole:
			role = plain(v)
		case isContent:
			first := kindOf(v)
			odd = first != '"' && first != '[' && first != 'n'
		}
		return err
	})
	if isMessage := len(kind) == 0 || string(kind) == "message"; odd && isMessage {
		r.invalidContent("The content of item %d must be text, a list of parts or null.", index)
	}
	it := inputItem{span: span, role: itemRole(kind, role), said: !aside(kind)}
	if it.seen = r.fresh(r.offset()-len(span), span); err == nil && it.seen != nil {
		facts := factMessage
		if !it.said {
			facts |= factAside
		}
		it.seen.learn(facts, it.role)
	}
	return it, err
}

package wire

// assembly is the answer that a stream has brought so far. Texts stay escaped as they came: joined they are the inside of one
// JSON string, even where an upstream cut a surrogate pair in two.
type assembly struct {
	id, model []byte // escaped
	created   []byte // raw number
	container []byte // escaped
	finish    []byte // escaped
	choices   []bool // of a protocol with several answers, by index: this one has said why it stopped
	usage     []byte // raw usage object: the last one, or the first where a protocol sends two
	usageEnd  []byte // raw usage object of the end, where a protocol sends two
	response  []byte // raw object of the whole answer, where a protocol's terminal event holds it
	pieces    []piece
	err       *AnswerError
	ended     bool
	size      int // bytes kept, to be bounded
}

// piece is one text, tool call or block of an answer.
type piece struct {
	kind      string
	index     int
	part      int    // of a protocol whose pieces have parts: which one
	id, name  []byte // escaped
	head      []byte // the raw object that opened it
	text      []byte // escaped
	signature []byte // escaped
}

// pieceCost is what a piece counts besides its bytes, so that a flood of empty ones is bounded too.
const pieceCost = 256

// at gives the piece of that kind and index, the latest where there are several; it is made where there is none.
func (a *assembly) at(kind string, index int) *piece {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		if p := &a.pieces[i]; p.index == index && p.kind == kind {
			return p
		}
	}
	return a.add(kind, index)
}

func (a *assembly) add(kind string, index int) *piece {
	a.pieces = append(a.pieces, piece{kind: kind, index: index})
	a.size += pieceCost
	return &a.pieces[len(a.pieces)-1]
}

// find gives the first piece of a kind, nil where there is none.
func (a *assembly) find(kind string) *piece {
	for i := range a.pieces {
		if a.pieces[i].kind == kind {
			return &a.pieces[i]
		}
	}
	return nil
}

// grow appends to a text and counts it.
func (a *assembly) grow(text *[]byte, more []byte) {
	*text = append(*text, more...)
	a.size += len(more)
}

// once keeps a string that later events repeat.
func (a *assembly) once(text *[]byte, raw []byte) {
	if len(*text) == 0 {
		a.grow(text, inner(raw))
	}
}

// appendMember appends `"name":` and a value, with the comma that it needs.
func appendMember(dst []byte, name string, value []byte) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	dst = append(appendText(dst, []byte(name)), ':')
	return append(dst, value...)
}

// appendStringMember appends a member whose value is a string that is escaped already.
func appendStringMember(dst []byte, name string, escaped []byte) []byte {
	return appendEscaped(appendMember(dst, name, nil), escaped)
}

package wire

// Edit is what of a request's body goes upstream otherwise than it came.
type Edit struct {
	Messages []Message // in the place of its own; nil for its own
	Model    string    // in the place of its own; empty for its own
}

// Edited gives the body of the request with an edit; everything else stays as it came, byte for byte.
func (r *Request) Edited(body []byte, e Edit) []byte {
	cuts := make([]splice, 0, 2)
	if e.Messages != nil && r.TalkAt[1] > 0 {
		cuts = append(cuts, splice{r.TalkAt, listOf(e.Messages)})
	}
	if e.Model != "" && r.ModelAt[1] > 0 {
		cuts = append(cuts, splice{r.ModelAt, appendText(nil, []byte(e.Model))})
	}
	if len(cuts) == 2 && cuts[0].at[0] > cuts[1].at[0] {
		cuts[0], cuts[1] = cuts[1], cuts[0]
	}
	size := len(body)
	for _, c := range cuts {
		size += len(c.with) - (c.at[1] - c.at[0])
	}
	out, from := make([]byte, 0, size), 0
	for _, c := range cuts {
		out = append(append(out, body[from:c.at[0]]...), c.with...)
		from = c.at[1]
	}
	return append(out, body[from:]...)
}

// splice is a span of a body and what comes into its place.
type splice struct {
	at   [2]int
	with []byte
}

func listOf(messages []Message) []byte {
	size := len("[]")
	for i := range messages {
		size += len(messages[i].Raw) + len(",")
	}
	out := append(make([]byte, 0, size), '[')
	for i := range messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, messages[i].Raw...)
	}
	return append(out, ']')
}

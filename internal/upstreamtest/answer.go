package upstreamtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// object is a JSON object of an answer.
type object map[string]any

func (o object) encode() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("upstreamtest: answer is no JSON: %v", err))
	}
	return b
}

// answer is what a reply comes to for one request: one part for a buffered body, one an event for a stream.
type answer struct {
	status      int
	contentType string
	parts       [][]byte
	streamed    bool
	failure     []byte // the protocol's error event
}

// protocol is an API's shapes.
type protocol interface {
	whole() object
	events() [][]byte
	failure(status int, message string) object
	failureEvent() []byte
}

// question is what an ordinary answer is made from.
type question struct {
	wants
	reply Reply
	turn  int
}

func (q question) protocol(path string) protocol { //nolint:ireturn // the path decides which
	switch {
	case strings.HasSuffix(path, "/messages") || strings.HasSuffix(path, "/count_tokens"):
		return messages{q}
	case strings.HasSuffix(path, "/responses/compact"):
		return compaction{responses{q}}
	case strings.HasSuffix(path, "/responses"):
		return responses{q}
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		return completions{chat{q}}
	}
	return chat{q}
}

func (s *Server) answer(req *Request, r Reply) answer {
	q := question{wants: req.wants(), reply: r, turn: req.Turn}
	q.Stream = q.Stream || r.Early
	p := q.protocol(req.Path)
	a := answer{status: r.status(), contentType: "application/json", failure: p.failureEvent()}
	switch {
	case r.Body != nil:
		a.parts = [][]byte{r.Body}
		if r.ContentType != "" {
			a.contentType = r.ContentType
		}
	case r.Events != nil:
		a.stream(bytesOf(r.Events))
	case a.status >= http.StatusBadRequest:
		a.whole(p.failure(a.status, fmt.Sprintf("the fake model says %d", a.status)))
	case turns(req):
		if q.Stream {
			a.stream(p.events())
		} else {
			a.whole(p.whole())
		}
	default:
		a.status, a.parts = s.other(req, p)
	}
	return a
}

func (a *answer) whole(o object) { a.parts = [][]byte{append(o.encode(), '\n')} }

func (a *answer) stream(events [][]byte) {
	a.contentType, a.streamed, a.parts = "text/event-stream", true, events
}

func turns(req *Request) bool {
	if req.Method != http.MethodPost {
		return false
	}
	for _, route := range []string{"/completions", "/messages", "/responses", "/responses/compact"} {
		if strings.HasSuffix(req.Path, route) {
			return true
		}
	}
	return false
}

// other answers the routes that make no turn.
func (s *Server) other(req *Request, p protocol) (int, [][]byte) {
	one := func(o object) (int, [][]byte) { return http.StatusOK, [][]byte{append(o.encode(), '\n')} }
	switch {
	case req.Path == "/health" || req.Path == "/":
		return one(object{"status": "ok"})
	case strings.HasSuffix(req.Path, "/v1/models"):
		var list []object
		for _, id := range s.options.Models {
			list = append(list, model(id))
		}
		return one(object{"object": "list", "data": list, "has_more": false})
	case strings.Contains(req.Path, "/v1/models/"):
		return one(model(req.Path[strings.LastIndex(req.Path, "/")+1:]))
	case strings.HasSuffix(req.Path, "/messages/count_tokens"):
		return one(object{"input_tokens": 9})
	case strings.HasSuffix(req.Path, "/embeddings"):
		entry := object{"object": "embedding", "index": 0, "embedding": []float64{0.5, -0.5}}
		return one(object{
			"object": "list", "data": []object{entry}, "model": req.wants().Model,
			"usage": object{"prompt_tokens": 9, "total_tokens": 9},
		})
	}
	missing := p.failure(http.StatusNotFound, "no route "+req.Path)
	return http.StatusNotFound, [][]byte{append(missing.encode(), '\n')}
}

func model(id string) object {
	return object{"id": id, "object": "model", "created": 1700000000, "owned_by": "fake", "type": "model", "display_name": id}
}

// pieces cuts a text after each space; an empty text has none.
func pieces(s string) []string {
	if s == "" {
		return nil
	}
	return strings.SplitAfter(s, " ")
}

func bytesOf(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}

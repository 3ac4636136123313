package relay

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/problem"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/wire"
)

// pass serves every other route below /v1: the request goes to an upstream and its answer back.
func (a *API) pass(prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := newSink(w, a.rules.Load().Minimal)
		if err := a.passOn(s, r, prefix); err != nil {
			a.fail(s, r, problem.ProtocolOf(r.URL.Path), err)
		}
	})
}

func (a *API) passOn(s *sink, r *http.Request, prefix string) error {
	caller, err := a.Gate.Caller(r)
	if err != nil {
		return err
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	if climbs(path) {
		return mooring.Errorf(mooring.CodeNotFound, "There is nothing at this path; it may hold no dot segments.")
	}
	body, err := a.Gate.ReadRaw(s.w, r, 0)
	if err != nil {
		return err
	}
	defer body.Release()
	rules := a.rules.Load()
	req := turn.Pass{
		Caller: caller, Protocol: spoken(r), Method: r.Method, Path: path, Query: r.URL.RawQuery, Header: r.Header, Object: responseIn(path),
		Walled: rules.Keys && !stateless(r.Method, path),
	}
	if len(body.Bytes()) > 0 {
		req.Body = body
		if req.Model, err = modelOf(r, body.Bytes(), rules.Wire); err != nil {
			return err
		}
	}
	release, err := a.Gate.Admit(r.Context(), caller, serve.Ask{Model: req.Model})
	if err != nil {
		return err
	}
	defer release()
	return a.Runner.Pass(r.Context(), req, s)
}

// modelOf reads the model that a JSON body names. Bodies of other kinds are files and forms.
func modelOf(r *http.Request, body []byte, lim wire.Limits) (string, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := r.Header.Get("Content-Type") == "" || err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
	if !isJSON || r.Header.Get("Content-Encoding") != "" || body[0] != '{' {
		return "", nil
	}
	return wire.ModelOf(body, lim)
}

// spoken is the family of protocols that a route belongs to; some paths are in both.
func spoken(r *http.Request) mooring.Protocol {
	if r.Header.Get("Anthropic-Version") != "" || problem.ProtocolOf(r.URL.Path) == mooring.Messages {
		return mooring.Messages
	}
	return mooring.Chat
}

// climbs says that a path has segments that lead elsewhere once somebody resolves them.
func climbs(path string) bool {
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\\`, "/").Replace(path)
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// responseIn gives the id of the stored response that a path is about; empty for none.
func responseIn(path string) string {
	rest, ok := strings.CutPrefix(path, "/v1/responses/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// stateless says that a route keeps nothing at the upstream that another tenant could reach, and that nothing is reached
// through it: its requests are answered from what they hold. Stored responses have owners here.
func stateless(method, path string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	switch first {
	case "responses":
		return true
	case "models":
		return method == http.MethodGet || method == http.MethodHead
	case "audio":
		return !strings.HasPrefix(rest, "voice")
	}
	return slices.Contains([]string{
		"embeddings", "moderations", "images", "rerank", "score", "classify", "pooling", "tokenize", "detokenize", "edits", "complete", "ocr", "fim", "realtime",
	}, first)
}

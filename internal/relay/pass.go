package relay

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"mooring"
	"mooring/internal/problem"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/wire"
)

// pass serves every other route below /v1: the request goes to an upstream and its answer back.
func (a *API) pass(prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(passMethods(), r.Method) {
			serve.RefuseMethod(w, r, strings.Join(passMethods(), ", "))
			return
		}
		s := newSink(w, a.rules.Load().Minimal)
		if err := a.passOn(s, r, prefix); err != nil {
			a.fail(s, r, problem.ProtocolOf(r.URL.Path), err)
		}
	})
}

// passMethods are those that APIs know. A TRACE would show the client the credential that the upstream was sent.
func passMethods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
}

func (a *API) passOn(s *sink, r *http.Request, prefix string) error {
	caller, err := a.owner(r)
	if err != nil {
		return err
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	plain, ok := plainPath(path)
	if !ok || !strings.HasPrefix(path, "/v1/") || isTurn(plain) {
		return mooring.Errorf(mooring.CodeNotFound, "There is nothing at this path; send it in its plain spelling, without dot segments, doubled slashes or escaped letters.")
	}
	body, err := a.Gate.ReadRaw(s.w, r, 0)
	if err != nil {
		return err
	}
	defer body.Release()
	rules := a.rules.Load()
	keeps := !stateless(r.Method, plain)
	req := turn.Pass{
		Caller: caller, Protocol: spoken(r), Method: r.Method, Path: path, Query: r.URL.RawQuery, Header: r.Header, Objects: objectsIn(plain),
		Keeps: keeps, Walled: rules.Keys && keeps,
	}
	ask := serve.Ask{Free: true} // without a body nothing is asked of a model
	if len(body.Bytes()) > 0 {
		var says seen
		if says, err = glance(r, body.Bytes(), rules.Wire); err != nil {
			return err
		}
		req.Body, req.Model, req.Named, req.Objects = body, says.model, says.named, append(req.Objects, says.objects...)
		ask = serve.Ask{Model: says.model, Unread: says.unread}
	}
	release, err := a.Gate.Admit(r.Context(), caller, ask)
	if err != nil {
		return err
	}
	defer release()
	return a.Runner.Pass(r.Context(), req, s)
}

// spoken is the family of protocols that a route belongs to; some paths are in both.
func spoken(r *http.Request) mooring.Protocol {
	if r.Header.Get("Anthropic-Version") != "" || problem.ProtocolOf(r.URL.Path) == mooring.Messages {
		return mooring.Messages
	}
	return mooring.Chat
}

// plainPath is a path as the last of those behind may read it: unescaped, also twice, and without parameters of segments. It is
// false for one that leads elsewhere once somebody resolves it.
func plainPath(escaped string) (plain string, ok bool) {
	plain = escaped
	for next, err := url.PathUnescape(plain); err == nil && next != plain; next, err = url.PathUnescape(plain) {
		plain = next
	}
	if strings.ContainsFunc(plain, unicode.IsControl) {
		return "", false
	}
	segments := strings.Split(strings.ReplaceAll(plain, `\`, "/"), "/")
	for i, segment := range segments {
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." || segment == "" && i > 0 && i < len(segments)-1 {
			return "", false
		}
		segments[i] = segment
	}
	return strings.Join(segments, "/"), true
}

// isTurn says that a path is another spelling of one whose requests are turns: they must not go by unseen.
func isTurn(plain string) bool {
	plain = strings.TrimSuffix(plain, "/")
	return slices.ContainsFunc(turnRoutes(), func(t turnRoute) bool { return strings.EqualFold(t.path, plain) })
}

// objectsIn gives the id of the stored response or conversation that a path is about.
func objectsIn(plain string) []wire.Field {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(plain, "/v1/"), "/")
	id, _, _ := strings.Cut(rest, "/")
	switch {
	case id == "":
	case strings.EqualFold(kind, "responses"):
		return []wire.Field{{Path: "response", Value: id}}
	case strings.EqualFold(kind, "conversations"):
		return []wire.Field{{Path: "conversation", Value: id}}
	}
	return nil
}

// stateless says that a route keeps nothing at the upstream that another tenant could reach, and that nothing is reached
// through it: its requests are answered from what they hold. Stored responses have owners here.
func stateless(method, plain string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(plain, "/v1/"), "/")
	switch first {
	case "responses":
		return true
	case "models":
		return method == http.MethodGet || method == http.MethodHead
	case "audio":
		return !strings.HasPrefix(strings.ToLower(rest), "voice")
	}
	return slices.Contains([]string{
		"embeddings", "moderations", "images", "rerank", "score", "classify", "pooling", "tokenize", "detokenize", "edits", "complete", "ocr", "fim", "realtime",
	}, first)
}

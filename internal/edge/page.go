package edge

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // the script
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"mooring"
)

//go:embed continuity.js
var continuitySource []byte

const scriptPath = "/.mooring/continuity.js"

// pageHeader says on what the script asks for whose page may show it: the word that stands in that page's tag.
const pageHeader = "X-Mooring-Page"

// marker stands in a tag that is there already.
var marker = []byte("data-mooring-continuity") //nolint:gochecknoglobals // a constant in all but type

// script is what every page is given, under a name that changes with it.
type script struct {
	body []byte
	hash string
}

func continuityScript() script {
	sum := sha256.Sum256(continuitySource)
	hash := hex.EncodeToString(sum[:])[:12]
	return script{body: continuitySource, hash: hash}
}

// tag names the script, and whose page it is on.
func (s *script) tag(mark string) []byte {
	return []byte(`<script defer src="` + scriptPath + `?v=` + s.hash + `" data-mooring-continuity="1" data-mooring-page="` + mark + `"></script>`)
}

// pageMark is a word for a tenant that a page may hold: it tells pages of different people apart, and nothing else.
func (e *Edge) pageMark(key mooring.TenantKey) string {
	h := hmac.New(sha256.New, e.bind_)
	writeSized(h, "page")
	writeSized(h, string(key))
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// own answers on the edge's own routes.
func (e *Edge) own(w http.ResponseWriter, r *http.Request, v *visit) error {
	if v.path != scriptPath || v.query != "v="+e.script.hash || !e.set.Continuity {
		return notFound()
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notAllowed()
	}
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Length", strconv.Itoa(len(e.script.body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(e.script.body) // a client that is gone cannot be told
	return nil
}

// taggable says whether an answer is a page that a person looks at, and one that can be changed.
func taggable(r *http.Request, v *visit, res *http.Response) bool {
	if r.Method != http.MethodGet || res.StatusCode != http.StatusOK || v.class != classPage {
		return false
	}
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" {
		return false
	}
	media, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || media != "text/html" || res.Header.Get("Content-Range") != "" {
		return false
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	default:
		return false
	}
	disposition, _, _ := strings.Cut(res.Header.Get("Content-Disposition"), ";")
	return !strings.EqualFold(strings.TrimSpace(disposition), "attachment") && !sandboxed(res.Header)
}

func sandboxed(h http.Header) bool {
	for _, policy := range h["Content-Security-Policy"] {
		for directive := range strings.FieldsFuncSeq(policy, func(c rune) bool { return c == ';' || c == ',' }) {
			if fields := strings.Fields(directive); len(fields) > 0 && strings.EqualFold(fields[0], "sandbox") {
				return true
			}
		}
	}
	return false
}

// runsOwn says whether a policy lets a page run a script of its own host.
func runsOwn(h http.Header) bool {
	for _, policy := range h["Content-Security-Policy"] {
		sources, found := "", false
		for directive := range strings.SplitSeq(policy, ";") {
			name, rest, _ := strings.Cut(strings.TrimSpace(directive), " ")
			switch strings.ToLower(name) {
			case "script-src", "script-src-elem":
				sources, found = rest, true
			case "default-src":
				if !found {
					sources, found = rest, true
				}
			}
		}
		if found && !strings.Contains(sources, "'self'") && !strings.Contains(" "+sources+" ", " * ") {
			return false
		}
	}
	return true
}

// lookAhead is how far into a page its head is looked for, markLength how far behind it a tag that is there already.
const (
	lookAhead  = 64 << 10
	markLength = 512
)

// tagged hands a page over with the script's tag in it. A page that cannot be changed goes through as it is.
func (e *Edge) tagged(ctx context.Context, w *counting, v *visit, res *http.Response) error {
	if coding := res.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		e.opts.Meter.EdgeUntagged("encoding")
		return e.untagged(ctx, w, v, res, nil)
	}
	if !runsOwn(res.Header) {
		e.opts.Meter.EdgeUntagged("policy")
		return e.untagged(ctx, w, v, res, nil)
	}
	begin, at, err := findHead(res.Body)
	switch {
	case err != nil && w.status == 0:
		if v.cancelled(ctx) {
			return slotDown(context.Cause(ctx))
		}
		panic(http.ErrAbortHandler)
	case at < 0:
		e.opts.Meter.EdgeUntagged("no place")
		return e.untagged(ctx, w, v, res, begin)
	}
	h, tag := w.Header(), e.script.tag(e.pageMark(v.key))
	dropLength(h)
	if res.ContentLength >= 0 {
		h.Set("Content-Length", strconv.FormatInt(res.ContentLength+int64(len(tag)), 10))
	}
	w.WriteHeader(res.StatusCode)
	e.copy(ctx, w, v, res, io.MultiReader(bytes.NewReader(begin[:at]), bytes.NewReader(tag), bytes.NewReader(begin[at:]), res.Body))
	return nil
}

func (v *visit) cancelled(ctx context.Context) bool { return over(context.Cause(ctx)) }

func (e *Edge) untagged(ctx context.Context, w *counting, v *visit, res *http.Response, begin []byte) error {
	if res.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
	}
	w.WriteHeader(res.StatusCode)
	e.copy(ctx, w, v, res, io.MultiReader(bytes.NewReader(begin), res.Body))
	return nil
}

// findHead reads a page up to behind its head's start tag, and gives what it has read and where the tag belongs: there, or before the
// end of the body in a page without a head. -1 where there is no such place, or the tag is there already.
func findHead(page io.Reader) (begin []byte, at int, err error) {
	var read bytes.Buffer
	limited := &io.LimitedReader{R: page, N: lookAhead}
	z := html.NewTokenizer(io.TeeReader(limited, &read))
	z.SetMaxBuf(lookAhead)
	offset, body := 0, -1
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if err := z.Err(); err != io.EOF && !errors.Is(err, html.ErrBufferExceeded) { //nolint:errorlint // a reader's own end
				return read.Bytes(), -1, err
			}
			if bytes.Contains(read.Bytes(), marker) {
				body = -1
			}
			return read.Bytes(), body, nil
		}
		start := offset
		offset += len(z.Raw())
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		switch name, _ := z.TagName(); {
		case kind == html.StartTagToken && string(name) == "head":
			return afterHead(page, &read, offset)
		case kind == html.EndTagToken && string(name) == "body":
			body = start
		}
	}
}

// afterHead reads on far enough to see whether the tag is there.
func afterHead(page io.Reader, read *bytes.Buffer, at int) (begin []byte, _ int, err error) {
	if missing := at + markLength - read.Len(); missing > 0 {
		if _, err = io.CopyN(read, page, int64(missing)); err != nil && err != io.EOF { //nolint:errorlint // as above
			return read.Bytes(), -1, err
		}
	}
	if bytes.Contains(read.Bytes()[at:], marker) {
		return read.Bytes(), -1, nil
	}
	return read.Bytes(), at, nil
}

// derive gives a key for one purpose.
func derive(secret []byte, purpose string) []byte {
	h := hmac.New(sha256.New, secret)
	writeSized(h, "mooring edge")
	writeSized(h, purpose)
	return h.Sum(nil)
}

func constantEqual(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

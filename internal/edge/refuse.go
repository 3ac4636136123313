package edge

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// refusal is an answer of the edge's own. Its words are constant: nothing of the request comes back in them.
type refusal struct {
	status int
	code   mooring.Code
	words  string
	wait   time.Duration // Retry-After; 0 for none
	cause  error         // for the log alone
	clear  bool          // the two cookies end
	home   string        // where its page leads; "" for the first page of this address
}

// Error gives code and cause, for the log.
func (r *refusal) Error() string {
	if r.cause != nil {
		return fmt.Sprintf("%s: %v", r.code, r.cause)
	}
	return string(r.code)
}

// Unwrap gives the cause.
func (r *refusal) Unwrap() error { return r.cause }

func badRequest(words string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: mooring.CodeBadRequest, words: words}
}

func notFound() *refusal {
	return &refusal{status: http.StatusNotFound, code: mooring.CodeNotFound, words: "There is nothing here."}
}

func notAllowed() *refusal {
	return &refusal{status: http.StatusMethodNotAllowed, code: mooring.CodeMethodNotAllowed, words: "This method does not work here."}
}

func nobody() *refusal {
	return &refusal{status: http.StatusUnauthorized, code: mooring.CodeIdentityRequired, words: "Sign in to go on."}
}

func tooLarge() *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, code: mooring.CodeBodyTooLarge, words: "That is too large to send."}
}

// Retry-After of the answers that a later try may change.
const (
	soon  = 3 * time.Second
	later = time.Minute
)

func slotsFull() *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeSlotsFull, words: "No place is free at the moment; ask whoever runs this server.", wait: later}
}

func storeDown(cause error) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeStoreUnavailable, words: "Your place cannot be looked up at the moment; try again.", wait: soon, cause: cause}
}

func slotDown(cause error) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeUpstreamUnavailable, words: "Your workspace does not answer at the moment; try again.", wait: soon, cause: cause}
}

func slotFailed(cause error) *refusal {
	return &refusal{status: http.StatusBadGateway, code: mooring.CodeUpstreamError, words: "Your workspace gave an answer that cannot be used.", cause: cause}
}

func slotSlow(cause error) *refusal {
	return &refusal{status: http.StatusGatewayTimeout, code: mooring.CodeUpstreamTimeout, words: "Your workspace did not answer in time.", cause: cause}
}

// unasked is for a provider that gives no answer that counts.
func unasked(cause error) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeUpstreamUnavailable, words: "Nobody can be signed in at the moment; try again.", wait: soon, cause: cause}
}

// write answers with the refusal: on routes of the web UI's API in Mooring's envelope, elsewhere as a page.
func (r *refusal) write(w http.ResponseWriter, path string) {
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified", "Location"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store, private")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Mooring-Error", string(r.code))
	if r.wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(r.wait/time.Second), 10))
	}
	if r.status < http.StatusInternalServerError {
		h.Set("Connection", "close") // what else came on it has not been read as anything
	}
	var body []byte
	if strings.HasPrefix(path, "/api/") {
		h.Set("Content-Type", "application/json")
		body = problem.Body(mooring.Chat, mooring.Errorf(r.code, "%s", r.words))
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		body = errorPage(r.status, r.words, cmp.Or(r.home, "/"))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(body) //nolint:gosec // words of the program's own; a client that is gone cannot be told
}

// errorPage is a page whose every word is the program's own, or the configured host's name.
func errorPage(status int, words, home string) []byte {
	link := `<p><a href="` + home + `">Back to the chat</a></p>`
	if status == http.StatusUnauthorized {
		link = `<p><a href="/oauth2/start?rd=%2F">Sign in</a></p>`
	}
	return page(http.StatusText(status), `<p>`+words+`</p>`+link)
}

// page is a page of the edge's own; title and body are constants of the program.
func page(title, body string) []byte {
	return []byte(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>` + title + `</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 15vh auto 0; padding: 0 1.25rem }
h1 { font-size: 1.35rem; margin: 0 0 .5rem }
a, button { color: #1d4ed8; font: inherit }
button { color: #fff; background: #1d4ed8; border: 0; border-radius: .5rem; padding: .6rem 1.1rem; cursor: pointer }
a:focus-visible, button:focus-visible { outline: 3px solid #93c5fd; outline-offset: 2px }
@media (prefers-color-scheme: dark) { a { color: #93c5fd } button { background: #2563eb } }
</style>
</head>
<body>
<h1>` + title + `</h1>
` + body + `
</body>
</html>
`)
}

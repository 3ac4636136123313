package house

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// What a web UI is told who somebody is with, and what it knows their browser by.
const (
	IdentityHeader = "X-Hermes-Tenant-Identity"
	SessionCookie  = "hermes_chat_session"
	csrfHeader     = "X-Hermes-Csrf-Token"
)

//go:embed page/index.html
var page string

//go:embed page/app.js
var app []byte

// policy is hermes-webui's, less the hosts that are not this one (hermes-webui api/helpers.py at df65251d).
const policy = "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"

// WebUI is one tenant's web UI. Whoever it is told has asked is who has asked.
type WebUI struct {
	Name string
	URL  string

	secret []byte
	mux    *http.ServeMux
	shown  *template.Template

	mu       sync.Mutex // guards what follows
	seen     []Request
	logins   map[string]string // of a cookie's token: whose it is
	sessions []*chat
	streams  map[string]*answer
	changed  chan struct{} // closed at each change of the sessions
}

// Request is what a web UI was asked.
type Request struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
}

type chat struct {
	ID       string    `json:"session_id"`
	Title    string    `json:"title"`
	Busy     bool      `json:"is_streaming"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type answer struct {
	session string
	words   []string
}

func newWebUI(name, url string) *WebUI {
	u := &WebUI{
		Name: name, URL: url, secret: []byte(rand.Text()), mux: http.NewServeMux(), shown: template.Must(template.New("page").Parse(page)), logins: map[string]string{}, streams: map[string]*answer{},
		changed: make(chan struct{}),
	}
	u.mux.HandleFunc("GET /static/app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(app)
	})
	u.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"status": "ok"}) })
	u.mux.HandleFunc("GET /api/sessions", u.list)
	u.mux.HandleFunc("GET /api/sessions/events", u.events)
	u.mux.HandleFunc("GET /api/session", u.session)
	u.mux.HandleFunc("POST /api/session/new", u.create)
	u.mux.HandleFunc("POST /api/chat/start", u.start)
	u.mux.HandleFunc("GET /api/chat/stream", u.stream)
	u.mux.HandleFunc("POST /api/auth/logout", u.logout)
	u.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not found") })
	u.mux.HandleFunc("/", u.page)
	return u
}

// Seen is everything that the web UI was asked so far.
func (u *WebUI) Seen() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Request(nil), u.seen...)
}

// ServeHTTP writes a request down, finds out whose it is, and answers it.
func (u *WebUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.seen = append(u.seen, Request{r.Method, r.RequestURI, r.Header.Clone()})
	u.mu.Unlock()
	if r.URL.Path == "/health" || strings.HasPrefix(r.URL.Path, "/static/") { // anybody's
		u.mux.ServeHTTP(w, r)
		return
	}
	who := r.Header.Values(IdentityHeader)
	if len(who) != 1 || who[0] == "" {
		refuse(w, http.StatusUnauthorized, "Authentication required")
		return
	}
	token, known := u.login(r, who[0])
	if !known {
		http.SetCookie(w, cookie(token+"."+u.sign(token), 3600))
	}
	if r.Method == http.MethodPost && r.Header.Get(csrfHeader) != u.sign("csrf "+token) {
		refuse(w, http.StatusForbidden, "Session expired - reload")
		return
	}
	u.mux.ServeHTTP(w, r)
}

func cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: SessionCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode}
}

var cookieValue = regexp.MustCompile(`^([0-9a-f]{64})\.([0-9a-f]{64})$`)

// login gives the token of the browser's session, a new one where it has none of that person's.
func (u *WebUI) login(r *http.Request, who string) (token string, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c, err := r.Cookie(SessionCookie); err == nil {
		if part := cookieValue.FindStringSubmatch(c.Value); part != nil && hmac.Equal([]byte(part[2]), []byte(u.sign(part[1]))) {
			if u.logins[part[1]] == who {
				return part[1], true
			}
			delete(u.logins, part[1])
		}
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	token = hex.EncodeToString(raw)
	u.logins[token] = who
	return token, false
}

func (u *WebUI) sign(text string) string {
	h := hmac.New(sha256.New, u.secret)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

func (u *WebUI) page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/session/") {
		http.NotFound(w, r)
		return
	}
	token := ""
	for _, line := range append(r.Header.Values("Cookie"), w.Header().Values("Set-Cookie")...) {
		if _, after, found := strings.Cut(line, SessionCookie+"="); found && len(after) > 64 {
			token = after[:64]
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	_ = u.shown.Execute(w, map[string]string{"csrf": u.sign("csrf " + token), "name": u.Name, "key": r.Header.Get(IdentityHeader)}) // a client that is gone cannot be told
}

func (u *WebUI) list(w http.ResponseWriter, _ *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]chat, 0, len(u.sessions))
	for _, c := range u.sessions {
		all = append(all, chat{ID: c.ID, Title: c.Title, Busy: c.Busy})
	}
	reply(w, map[string]any{"sessions": all})
}

func (u *WebUI) session(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := u.find(r.URL.Query().Get("session_id")); c != nil {
		reply(w, map[string]any{"session": c})
		return
	}
	refuse(w, http.StatusNotFound, "Session not found")
}

func (u *WebUI) find(id string) *chat {
	for _, c := range u.sessions {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (u *WebUI) create(w http.ResponseWriter, _ *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := &chat{ID: strings.ToLower(rand.Text()[:12]), Title: "New session", Messages: []message{}}
	u.sessions = append(u.sessions, c)
	u.tell()
	reply(w, map[string]any{"session": c})
}

// tell has every open page look again; the caller holds the lock.
func (u *WebUI) tell() {
	close(u.changed)
	u.changed = make(chan struct{})
}

func (u *WebUI) start(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Session string `json:"session_id"`
		Message string `json:"message"`
	}
	if json.NewDecoder(r.Body).Decode(&said) != nil || said.Message == "" {
		refuse(w, http.StatusBadRequest, "No message")
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.find(said.Session)
	switch {
	case c == nil:
		refuse(w, http.StatusNotFound, "Session not found")
		return
	case c.Busy:
		refuse(w, http.StatusConflict, "This session is working")
		return
	}
	if len(c.Messages) == 0 {
		c.Title = said.Message
	}
	c.Messages, c.Busy = append(c.Messages, message{"user", said.Message}), true
	id, words := rand.Text(), strings.Fields("You said: "+said.Message)
	if strings.Contains(strings.ToLower(said.Message), "long") {
		for i := range 600 {
			words = append(words, fmt.Sprint(i))
		}
	}
	u.streams[id] = &answer{c.ID, words}
	u.tell()
	reply(w, map[string]any{"stream_id": id})
}

// stream says an answer word by word. One whose reader has gone ends where it is.
func (u *WebUI) stream(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("stream_id")
	u.mu.Lock()
	a := u.streams[id]
	delete(u.streams, id)
	u.mu.Unlock()
	if a == nil {
		refuse(w, http.StatusNotFound, "Stream not found")
		return
	}
	out := begin(w)
	said := 0
	for _, word := range a.words {
		out(map[string]string{"text": word + " "})
		said++
		select {
		case <-r.Context().Done():
			u.end(a, said)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	u.end(a, said)
	_, _ = fmt.Fprint(w, "event: done\ndata: {}\n\n")
}

func (u *WebUI) end(a *answer, said int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := u.find(a.session); c != nil {
		c.Messages, c.Busy = append(c.Messages, message{"assistant", strings.Join(a.words[:said], " ")}), false
	}
	u.tell()
}

// events tells a page whenever the sessions change, and every five seconds that it is still there.
func (u *WebUI) events(w http.ResponseWriter, r *http.Request) {
	out := begin(w)
	for n := 1; ; n++ {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		out(map[string]any{"slot": u.Name, "n": n})
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-time.After(5 * time.Second):
		}
	}
}

func (u *WebUI) logout(w http.ResponseWriter, _ *http.Request) {
	w.Header().Del("Set-Cookie")
	http.SetCookie(w, cookie("", -1))
	reply(w, map[string]any{"ok": true, "trusted_logout_url": "/oauth2/sign_out?rd=%2F"})
}

func begin(w http.ResponseWriter) func(data any) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	return func(data any) {
		raw, _ := json.Marshal(data) //nolint:errchkjson // texts and numbers
		_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = http.NewResponseController(w).Flush() // who has gone is seen by the context
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // as above
}

func refuse(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": words}) // as above
}

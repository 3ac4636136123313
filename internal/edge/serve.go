package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"mooring"
)

// visit is one request on its way to a slot.
type visit struct {
	id    string
	class class
	path  string // as it came, canonical
	query string

	person
	slot  *slot
	epoch int64

	binding string // what the browser should have
	bound   bool   // and has
	changed bool   // it had another one, or cookies without one
	forward [2]string
	stale   [2]bool // cookies that the slot is not shown and the browser should forget
	early   bool    // it comes from a page that the browser had before it was signed in

	stream bool
	cancel context.CancelCauseFunc
}

// errRevoked ends what runs when its slot, identity or login no longer counts.
var errRevoked = errors.New("the right to this slot has ended")

// ServeHTTP takes a request through all gates, in the order of their cost to get wrong, and hands it to its slot.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := e.opts.Now()
	v := &visit{id: requestID()}
	out := &counting{ResponseWriter: w}
	ctx := r.Context()
	defer func() { e.note(ctx, v, out, e.opts.Now().Sub(began)) }()
	if err := e.handle(out, r, v); err != nil {
		e.refuse(out, r, v, err)
	}
}

func (e *Edge) handle(w *counting, r *http.Request, v *visit) error {
	if err := e.admit(r, v); err != nil {
		return err
	}
	if v.class == classOwn {
		return e.own(w, r, v)
	}
	cookies, err := cookiesIn(r.Header["Cookie"], e.set.Cookies)
	if err != nil {
		return err
	}
	if v.class == classLogin {
		if e.login == nil {
			return notFound()
		}
		return e.login.serve(w, r, v, &cookies)
	}
	if v.person, err = e.source.identify(r.Context(), r, &cookies); err != nil {
		if to := e.toLogin(r, v, err); to != "" {
			redirect(w, to)
			return nil
		}
		return err
	}
	if denied(v.path, e.set.DenyOpen) {
		return e.deny(w, r, v)
	}
	if err := e.place(r, v); err != nil {
		return err
	}
	v.match(r, &cookies)
	return e.pass(w, r, v)
}

// toLogin says where a person without a login is sent who opens a page; "" for all other requests.
func (e *Edge) toLogin(r *http.Request, v *visit, err error) string {
	var refused *refusal
	if e.login == nil || !errors.As(err, &refused) || refused.status != http.StatusUnauthorized {
		return ""
	}
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return ""
	}
	return startAt(v.path)
}

// admit looks at what a request is before anything of it is believed.
func (e *Edge) admit(r *http.Request, v *visit) error {
	v.class, v.path = classPage, r.URL.Path
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		return notAllowed()
	}
	if !e.named(r) {
		return &refusal{status: http.StatusMisdirectedRequest, code: mooring.CodeHostForbidden, words: "This server does not go by that name.", home: e.home()}
	}
	path, query, err := canonical(r)
	if err != nil {
		return err
	}
	v.path, v.query, v.class = path, query, classOf(path)
	return framed(r)
}

// home is the address that people know the edge by. What a proxy in front speaks is known only where the edge signs people in itself.
func (e *Edge) home() string {
	if e.login != nil {
		return e.set.Origin + "/"
	}
	return "//" + e.set.Host + "/"
}

// framed refuses what could be read as more, or as something else, than one request.
func framed(r *http.Request) error {
	if len(r.Header["Upgrade"]) > 0 || slices.ContainsFunc(r.Header["Connection"], func(line string) bool {
		return strings.Contains(strings.ToLower(line), "upgrade")
	}) {
		return badRequest("This server does not switch protocols.")
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
			return badRequest("This method takes no body.")
		}
	}
	return nil
}

func (e *Edge) deny(w http.ResponseWriter, r *http.Request, v *visit) error {
	if strings.EqualFold(v.path, "/login") && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		redirect(w, startAt("/"))
		return nil
	}
	return notFound()
}

func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
}

// place finds the tenant's slot, or claims one where the request is one that may.
func (e *Edge) place(r *http.Request, v *visit) error {
	if r.Method == http.MethodHead && v.class != classPage {
		return notAllowed()
	}
	c, has, err := e.book.find(v.key)
	if err != nil {
		return err
	}
	if !has || c.State == mooring.SlotQuarantined {
		if !claims(r, v.class) {
			return slotDown(errors.New("the tenant has no slot yet"))
		}
		if c, err = e.book.claim(r.Context(), v.key, e.names()); err != nil {
			return err
		}
	}
	if c.State != mooring.SlotClaimed {
		return slotDown(errors.New("the slot is draining"))
	}
	if v.slot = e.slotOf(c); v.slot == nil {
		return slotDown(errors.New("the slot is not configured"))
	}
	v.epoch, v.binding = c.Epoch, binding(e.bind_, c)
	e.book.seen(r.Context(), c)
	return nil
}

// match decides which cookies the slot sees: those that came from it, and no others.
func (v *visit) match(r *http.Request, b *brought) {
	v.bound = b.binding != "" && constantEqual(b.binding, v.binding)
	v.changed = !v.bound && (b.binding != "" || b.any())
	v.early = b.binding == "" && !b.any() && v.class != classPage && r.Referer() != ""
	for i := range v.forward {
		if v.bound {
			v.forward[i] = b.values[i]
		}
		v.stale[i] = b.named[i] && v.forward[i] == ""
	}
}

func (e *Edge) refuse(w *counting, r *http.Request, v *visit, err error) {
	var refused *refusal
	if !errors.As(err, &refused) {
		refused = slotFailed(err)
	}
	if refused.cause != nil {
		e.log.LogAttrs(r.Context(), slog.LevelWarn, "refused at the edge", slog.String("code", string(refused.code)), slog.Any("err", refused.cause), slog.String("request_id", v.id))
	}
	e.opts.Meter.EdgeRefused(string(refused.code))
	if refused.clear {
		for _, name := range e.set.Cookies {
			w.Header().Add("Set-Cookie", bake(name, "", -1))
		}
	}
	refused.write(w, v.path)
}

// counting remembers what was answered, and lets nothing through before the real header.
type counting struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader passes the one header on; what comes before it is the server's own to send.
func (c *counting) WriteHeader(status int) {
	if status < http.StatusOK || c.status != 0 {
		return
	}
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (c *counting) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController through.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// note writes the access line: nothing in it says who, or which session.
func (e *Edge) note(ctx context.Context, v *visit, w *counting, took time.Duration) {
	name := ""
	if v.slot != nil {
		name = string(v.slot.name)
	}
	e.opts.Meter.EdgeAnswered(string(v.class), w.status)
	e.log.LogAttrs(ctx, slog.LevelInfo, "edge", slog.String("slot", name), slog.String("route", string(v.class)), slog.Int("status", w.status),
		slog.Int64("bytes", w.bytes), slog.Int64("duration_ms", took.Milliseconds()), slog.String("request_id", v.id))
}

package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"mooring"
)

const (
	// exportPage is how many messages are read at once, exportBytes how much of them: a branch may hold gigabytes of images.
	exportPage  = 64
	exportBytes = 4 << 20
)

// format is how a session is written as a file.
type format struct {
	kind    string // content type
	ending  string // of the file's name
	head    func(out *bufio.Writer, s sessionView) error
	message func(out *bufio.Writer, m messageView) error
}

// export answers with a branch of a session as a file, the current one or that of ?tip=. It is written as it is read. Once a
// byte is out an error can only break the answer off: nobody must take a stump for the whole.
func (a *API) export(w http.ResponseWriter, r *http.Request) {
	tenant, err := a.tenant(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	file, err := formatOf(r.URL.Query().Get("format"))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	s, ids, err := a.exported(r, tenant)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Content-Disposition", `attachment; filename="`+string(s.ID)+file.ending+`"`) // an id needs no escape; a title would
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	out := bufio.NewWriter(w)
	err = file.head(out, s)
	if err == nil {
		one := mooring.Session{Tenant: tenant, ID: s.ID}
		err = a.eachMessage(r.Context(), one, ids, func(m messageView) error { return file.message(out, m) })
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		if r.Context().Err() == nil {
			a.log.LogAttrs(r.Context(), slog.LevelError, "export broken off", slog.String("session", s.ID.Short()), slog.Any("err", err))
		}
		panic(http.ErrAbortHandler)
	}
}

func formatOf(name string) (format, error) {
	switch name {
	case "jsonl", "":
		return format{
			kind: "application/jsonl; charset=utf-8", ending: ".jsonl",
			head:    func(out *bufio.Writer, s sessionView) error { return writeLine(out, s) },
			message: func(out *bufio.Writer, m messageView) error { return writeLine(out, m) },
		}, nil
	case "markdown":
		return format{kind: "text/markdown; charset=utf-8", ending: ".md", head: writeFacts, message: writeMessage}, nil
	}
	return format{}, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter format must be jsonl or markdown.")
}

// writeLine writes a line of JSON Lines.
func writeLine(out *bufio.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// exported gives the session and the ids of the branch, root first.
func (a *API) exported(r *http.Request, tenant mooring.Tenant) (sessionView, []mooring.MessageID, error) {
	s, err := a.find(r, tenant)
	if err != nil {
		return sessionView{}, nil, err
	}
	tip := s.Tip
	if asked := r.URL.Query().Get("tip"); asked != "" {
		tip = mooring.MessageID(asked)
	}
	ids, err := a.branch(r.Context(), s, tip)
	if err != nil {
		return sessionView{}, nil, err
	}
	v, err := a.view(r.Context(), s)
	return v, ids, err
}

// eachMessage reads the messages of a branch in pages. A page whose contents are too much for one is read in smaller ones.
func (a *API) eachMessage(ctx context.Context, s mooring.Session, ids []mooring.MessageID, take func(messageView) error) error {
	size := exportPage
	for at := 0; at < len(ids); {
		n := min(size, len(ids)-at)
		page, _, err := a.store.Branch(ctx, s.Tenant, s.ID, mooring.BranchPage{Tip: ids[at+n-1], Limit: n, Bytes: exportBytes})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return mooring.Errorf(mooring.CodeSessionNotFound, "The session has been deleted.")
		}
		if len(page) < n {
			size = max(1, n/2)
			continue
		}
		for _, m := range page {
			if err := take(viewMessage(m)); err != nil {
				return err
			}
		}
		at += n
		size = min(exportPage, 2*size)
	}
	return nil
}

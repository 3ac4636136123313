package relay

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"mooring"
	"mooring/internal/wire"
)

// seen is what the body of a request that makes no turn says.
type seen struct {
	model   string                    // empty where it names none
	objects []wire.Field              // ids of what an upstream keeps
	named   func(model string) []byte // gives the body with another model; nil where it cannot be put there
	unread  bool                      // it may name a model that this server does not see
}

// glance reads a JSON body and the fields of a form. Bodies of other kinds are files, unless they look like JSON: many servers
// read that whatever its type is said to be.
func glance(r *http.Request, body []byte, lim wire.Limits) (seen, error) {
	types := r.Header["Content-Type"]
	if ce := r.Header.Get("Content-Encoding"); ce != "" && !strings.EqualFold(ce, "identity") || len(types) > 1 {
		return seen{unread: true}, nil
	}
	media, params := "application/json", map[string]string(nil)
	if said := strings.Join(types, ""); said != "" {
		var err error
		if media, params, err = mime.ParseMediaType(said); err != nil {
			media = ""
		}
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return inJSON(body, lim)
	case media == "multipart/form-data":
		return inForm(body, params["boundary"])
	case media == "application/x-www-form-urlencoded":
		return inQuery(body)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body, "\ufeff \t\r\n"), []byte("{")) {
		return seen{}, nil
	}
	s, err := inJSON(bytes.TrimPrefix(body, []byte("\ufeff")), lim)
	if err != nil {
		return seen{unread: true}, nil //nolint:nilerr // it says that it is something else, and may be
	}
	return s, nil
}

func inJSON(body []byte, lim wire.Limits) (seen, error) {
	if start := bytes.TrimLeft(body, " \t\r\n"); len(start) > 0 && strings.IndexByte(`["-0123456789tfn`, start[0]) >= 0 {
		return seen{}, nil // no object, so it names nothing
	}
	req, err := wire.Glance(body, lim)
	if err != nil {
		return seen{}, err
	}
	s := seen{model: req.Model, unread: req.OddModel, named: func(model string) []byte { return req.Edited(body, wire.Edit{Model: model}) }}
	for _, f := range req.Fields {
		if f.Path == "previous_response_id" || f.Path == "conversation" {
			s.objects = append(s.objects, f)
		}
	}
	return s, nil
}

// inForm reads the field model of a form with files.
func inForm(body []byte, boundary string) (seen, error) {
	const longest = 1 << 10 // no model's name is longer
	var models []string
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return modelIn(models)
		}
		if err != nil {
			return seen{unread: true}, nil //nolint:nilerr // the upstream may read more of it
		}
		said := part.Header["Content-Disposition"]
		if len(said) != 1 || part.FormName() == "" {
			return seen{unread: true}, nil
		}
		if !strings.EqualFold(part.FormName(), "model") {
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, longest))
		if err != nil {
			return seen{unread: true}, nil //nolint:nilerr // as above
		}
		models = append(models, string(value))
	}
}

func inQuery(body []byte) (seen, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return seen{unread: true}, nil //nolint:nilerr // the upstream may read more of it
	}
	return modelIn(form["model"])
}

// modelIn refuses a form that names two models: two readers would see two requests.
func modelIn(models []string) (seen, error) {
	switch len(models) {
	case 0:
		return seen{}, nil
	case 1:
		return seen{model: models[0]}, nil
	}
	return seen{}, mooring.Errorf(mooring.CodeInvalidRequest, "The field model is given twice; give it once.")
}

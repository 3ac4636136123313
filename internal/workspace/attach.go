package workspace

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// attachment is a file that goes with a message.
type attachment struct {
	name string
	kind string // media type, without parameters
	data []byte
}

// mostAttachments is more than a person attaches to one message.
const mostAttachments = 64

func attachmentsOf(value jsontext.Value) ([]attachment, error) {
	var list []struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		ContentType string `json:"contentType"`
		Size        int    `json:"size"`
		DataURL     string `json:"dataUrl"`
		Content     string `json:"content"`
	}
	if json.Unmarshal(value, &list) != nil {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The member attachments must be a list of files, each with name, contentType and dataUrl or content.")
	}
	if len(list) > mostAttachments {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "There are %d attachments; send at most %d with a message.", len(list), mostAttachments)
	}
	out := make([]attachment, 0, len(list))
	for i, f := range list {
		a := attachment{name: plainName(f.Name), kind: mediaType(f.ContentType)}
		var ok bool
		if f.DataURL != "" {
			ok = a.readURL(f.DataURL)
		} else {
			ok = a.readContent(f.Content, f.Size)
		}
		if a.kind == "" {
			a.kind = mediaType(mime.TypeByExtension(strings.ToLower(path.Ext(a.name))))
		}
		if a.kind == "" && f.Type == "image" {
			a.kind = "image/png"
		}
		if !ok || len(a.data) == 0 {
			return nil, mooring.Errorf(mooring.CodeInvalidContent, "Attachment %d cannot be read; send its bytes as a base64 data URL in dataUrl.", i+1)
		}
		out = append(out, a)
	}
	return out, nil
}

// plainName keeps a file's name on one line.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(name))
	if name == "" {
		return "unnamed"
	}
	return name
}

func mediaType(said string) string {
	kind, _, err := mime.ParseMediaType(said)
	if err != nil {
		return ""
	}
	return kind
}

// readURL reads a data URL in base64. Addresses of other kinds are not fetched.
func (a *attachment) readURL(url string) bool {
	head, data, ok := strings.Cut(url, ",")
	said, isData := strings.CutPrefix(head, "data:")
	said, encoded := strings.CutSuffix(said, ";base64")
	if !ok || !isData || !encoded {
		return false
	}
	if kind := mediaType(said); kind != "" {
		a.kind = kind
	}
	return a.decode(data)
}

// readContent reads base64, or a text as it is: pages send both. A text that could be base64 is told by the size.
func (a *attachment) readContent(content string, size int) bool {
	if a.decode(content) && (!a.text() || size == len(a.data)) {
		return true
	}
	if a.data = []byte(content); a.text() || a.kind == "" {
		return true
	}
	return false
}

func (a *attachment) decode(data string) bool {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(data)
	}
	a.data = raw
	return err == nil
}

// text says that people read the file as text.
func (a *attachment) text() bool {
	switch a.kind {
	case "application/json", "application/xml", "application/javascript", "application/x-yaml", "application/yaml", "application/toml",
		"application/x-sh", "application/sql", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(a.kind, "text/")
}

// part is the attachment as a part of a message.
func (a *attachment) part(p mooring.Protocol) (json.RawMessage, error) {
	switch {
	case a.text() || a.kind == "" || a.kind == "application/octet-stream":
		if !utf8.Valid(a.data) {
			break
		}
		return textPart("[file: " + a.name + "]\n" + string(a.data)), nil
	case strings.HasPrefix(a.kind, "image/") && p == mooring.Messages:
		return asJSON(map[string]any{"type": "image", "source": a.source()}), nil
	case strings.HasPrefix(a.kind, "image/"):
		return asJSON(map[string]any{"type": "image_url", "image_url": map[string]string{"url": a.url()}}), nil
	case a.kind == "application/pdf" && p == mooring.Messages:
		return asJSON(map[string]any{"type": "document", "title": a.name, "source": a.source()}), nil
	case a.kind == "application/pdf":
		return asJSON(map[string]any{"type": "file", "file": map[string]string{"filename": a.name, "file_data": a.url()}}), nil
	}
	return nil, mooring.Errorf(mooring.CodeInvalidContent, "The attachment %q is neither an image, a text nor a PDF; models take no other files.", a.name)
}

func (a *attachment) url() string {
	return "data:" + a.kind + ";base64," + base64.StdEncoding.EncodeToString(a.data)
}

func (a *attachment) source() map[string]string {
	return map[string]string{"type": "base64", "media_type": a.kind, "data": base64.StdEncoding.EncodeToString(a.data)}
}

func textPart(text string) json.RawMessage {
	return asJSON(map[string]string{"type": "text", "text": text})
}

// asJSON encodes what is made of texts and numbers alone, which cannot fail.
func asJSON(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic("workspace: a request of texts and numbers cannot be encoded: " + err.Error())
	}
	return out
}

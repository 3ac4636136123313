package workspace

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// sending is the body of a send.
type sending struct {
	key         string // trimmed; empty for none
	friendly    string
	message     string
	attachments []attachment
	model       string
	history     []told
	clientID    string
	parent      *mooring.MessageID // the message it answers from, empty at the root; nil for the current one
	temperature *float64
	thinking    string
	locale      string
}

// told is an entry of the history that a client sends along.
type told struct {
	role, text string
}

// fresh is the key that asks for a fresh one, standard the one of a send that names none.
const (
	freshKey    = "new"
	standardKey = "main"
	rootParent  = "root"
)

// asks is the key that the send asks for.
func (s *sending) asks() string {
	switch {
	case s.key != "":
		return s.key
	case s.friendly != "":
		return s.friendly
	}
	return standardKey
}

// readSend reads the body of a send. Members that it does not know belong to other servers of the same pages, and are left.
func readSend(body []byte) (*sending, error) {
	s := &sending{}
	err := eachMember(body, func(name string, value jsontext.Value) error {
		if value.Kind() == 'n' {
			return nil
		}
		return s.take(name, value)
	})
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(s.message) == "" && len(s.attachments) == 0 {
		return nil, mooring.Errorf(mooring.CodeEmptyMessage, "The message is missing; send some text in message, or an attachment.")
	}
	return s, nil
}

func (s *sending) take(name string, value jsontext.Value) (err error) {
	switch name {
	case "sessionKey":
		s.key, err = trimmedOf(name, value)
	case "friendlyId":
		s.friendly, err = trimmedOf(name, value)
	case "message":
		s.message, err = textOf(name, value)
	case "model":
		s.model, err = trimmedOf(name, value)
	case "clientMessageId":
		s.clientID, err = clientIDOf(name, value)
	case "parentId":
		s.parent, err = parentOf(name, value)
	case "temperature":
		s.temperature, err = numberOf(name, value)
	case "thinking":
		if value.Kind() == '"' { // others send flags here
			s.thinking, err = trimmedOf(name, value)
		}
	case "locale":
		s.locale, err = trimmedOf(name, value)
	case "attachments":
		s.attachments, err = attachmentsOf(value)
	case "history":
		s.history, err = historyOf(value)
	}
	return err
}

func trimmedOf(name string, value jsontext.Value) (string, error) {
	text, err := textOf(name, value)
	return strings.TrimSpace(text), err
}

// longestClientID is more than any page's own id of a message takes.
const longestClientID = 256

func clientIDOf(name string, value jsontext.Value) (string, error) {
	id, err := textOf(name, value)
	if err == nil && len(id) > longestClientID {
		err = mooring.Errorf(mooring.CodeInvalidRequest, "The member %s has %d bytes; use at most %d.", name, len(id), longestClientID)
	}
	return id, err
}

func parentOf(name string, value jsontext.Value) (*mooring.MessageID, error) {
	id, err := trimmedOf(name, value)
	if err != nil || id == "" {
		return nil, err
	}
	parent := mooring.MessageID(id)
	if id == rootParent {
		parent = ""
	}
	return &parent, nil
}

func numberOf(name string, value jsontext.Value) (*float64, error) {
	var n float64
	if value.Kind() != '0' || json.Unmarshal(value, &n) != nil {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The member %s must be a number.", name)
	}
	return &n, nil
}

// historyOf reads what a client remembers of the conversation: who spoke, and the text.
func historyOf(value jsontext.Value) ([]told, error) {
	var list []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Text    string          `json:"text"`
	}
	if json.Unmarshal(value, &list) != nil {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The member history must be a list of messages, each with role and content.")
	}
	var out []told
	for _, m := range list {
		text := contentText(m.Content)
		if text == "" {
			text = m.Text
		}
		if (m.Role == "user" || m.Role == "assistant") && strings.TrimSpace(text) != "" {
			out = append(out, told{m.Role, text})
		}
	}
	return out, nil
}

// contentText is the text of a content that is one, or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var out bytes.Buffer
	for _, p := range parts {
		if p.Text != "" && out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(p.Text)
	}
	return out.String()
}

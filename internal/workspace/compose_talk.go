package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/wire"
)

// recall decides where the new message stands in its session, and what of it the upstream is to be told: one that keeps the
// conversation nothing, another one the branch up to there.
func (c *composing) recall(ctx context.Context) error {
	s := c.session
	from := s.Tip
	if c.said.parent != nil {
		from = *c.said.parent
	}
	if c.serving.Remote {
		if from != s.Tip {
			return mooring.Errorf(mooring.CodeLinearHistory, "The server of this chat keeps the conversation itself, and only goes on from its end; leave parentId out, or fork the session.")
		}
		return nil
	}
	if c.said.parent == nil && from == "" {
		c.before = c.said.remembered()
		return nil
	}
	c.under = &from
	if from == "" {
		return nil
	}
	return c.tell(ctx, from)
}

// tell reads the branch that ends with a message, as the upstream is to be told it.
func (c *composing) tell(ctx context.Context, tip mooring.MessageID) error {
	branch, err := c.branchUpTo(ctx, tip)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(branch, func(m mooring.Message) bool { return len(m.Content) == 0 }) {
		if len(c.said.history) == 0 {
			return mooring.Errorf(mooring.CodeTranscriptsOff, "No texts are kept here (sessions.transcripts), and the model's server keeps none either; send the conversation so far in history.")
		}
		c.before = c.said.remembered()
		return nil
	}
	for _, m := range wire.Talk(c.serving.Protocol, branch) {
		c.before = append(c.before, m)
	}
	return nil
}

// branchPage is how many messages are read at once.
const branchPage = 200

// branchUpTo reads a branch whole, oldest message first.
func (c *composing) branchUpTo(ctx context.Context, tip mooring.MessageID) ([]mooring.Message, error) {
	var out []mooring.Message // the newest first
	size, most := 0, c.talk.MaxBytes()
	page := mooring.BranchPage{Tip: tip, Limit: branchPage, Bytes: pageBytes}
	for {
		part, more, err := c.store.Branch(ctx, c.caller.Tenant, c.session.ID, page)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 && page.Before == "" {
			return nil, noSuchMessage()
		}
		for _, m := range slices.Backward(part) {
			size += len(m.Content)
			out = append(out, m)
		}
		if size > most {
			return nil, errGrown(most)
		}
		if !more || len(part) == 0 {
			slices.Reverse(out)
			return out, nil
		}
		page.Before = part[0].ID
	}
}

func errGrown(most int) error {
	return mooring.Errorf(mooring.CodeBodyTooLarge, "The conversation has grown beyond the %d bytes that may be sent (limits.body); begin a new one with /new.", most)
}

func noSuchMessage() error {
	return mooring.Errorf(mooring.CodeNotFound, "This session has no message of that parentId; leave it out to go on from the end.")
}

// remembered is the history that the client sent along, as messages.
func (s *sending) remembered() []json.RawMessage {
	var out []json.RawMessage
	for _, m := range s.history {
		out = append(out, asJSON(map[string]string{"role": m.role, "content": m.text}))
	}
	return out
}

// asMessage is the new message. Its texts come first: a command is read from them.
func (s *sending) asMessage(p mooring.Protocol) (json.RawMessage, error) {
	if len(s.attachments) == 0 {
		return asJSON(map[string]string{"role": "user", "content": s.message}), nil
	}
	var parts []json.RawMessage
	if strings.TrimSpace(s.message) != "" {
		parts = append(parts, textPart(s.message))
	}
	for i := range s.attachments {
		part, err := s.attachments[i].part(p)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return asJSON(map[string]any{"role": "user", "content": parts}), nil
}

// wish is a request's body, in either protocol.
type wish struct {
	Model           string            `json:"model"`
	MaxTokens       int               `json:"max_tokens,omitempty"`
	System          string            `json:"system,omitempty"`
	Messages        []json.RawMessage `json:"messages"`
	Stream          bool              `json:"stream"`
	StreamOptions   *usageWish        `json:"stream_options,omitempty"`
	Temperature     *float64          `json:"temperature,omitempty"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
	Thinking        *thinkingWish     `json:"thinking,omitempty"`
}

type usageWish struct {
	IncludeUsage bool `json:"include_usage"`
}

type thinkingWish struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

// body is the request as the upstream reads it.
func (c *composing) body() []byte {
	w := wish{Model: c.model, Stream: true, Temperature: c.said.temperature, Messages: append(c.before, c.latest)}
	if c.serving.Protocol == mooring.Messages {
		c.said.wishMessages(&w)
	} else {
		c.said.wishChat(&w)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the messages stay as they were written
	if err := enc.Encode(w); err != nil {
		panic("workspace: a request of JSON messages cannot be encoded: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// wishMessages puts the send's wishes into Anthropic's words. A model that thinks takes no temperature there.
func (s *sending) wishMessages(w *wish) {
	w.System, w.MaxTokens = placeWords(s.locale), longestAnswer(w.Model)
	if budget := thinkingBudget(s.thinking); budget > 0 {
		w.Thinking, w.MaxTokens, w.Temperature = &thinkingWish{"enabled", budget}, w.MaxTokens+budget, nil
	}
}

// wishChat puts them into those of chat.
func (s *sending) wishChat(w *wish) {
	w.StreamOptions = &usageWish{IncludeUsage: true}
	if place := placeWords(s.locale); place != "" {
		w.Messages = slices.Insert(w.Messages, 0, asJSON(map[string]string{"role": "system", "content": place}))
	}
	if thinkingBudget(s.thinking) > 0 {
		w.ReasoningEffort = strings.ToLower(s.thinking)
	}
}

// placeWords tells the model in what language its reader's page is; nothing for English, which models assume.
func placeWords(locale string) string {
	if locale == "" || len(locale) > 35 || strings.HasPrefix(strings.ToLower(locale), "en") { // 35 is the longest usual tag (RFC 5646)
		return ""
	}
	return "The user reads in the locale " + plainName(locale) + ". Answer in its language unless the user writes in another one."
}

// longestAnswer is what Anthropic's models are asked for, which want a bound: the first generation with a third major number ends at 4096.
func longestAnswer(model string) int {
	for _, old := range []string{"claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-2"} {
		if strings.Contains(model, old) {
			return 4096
		}
	}
	return 8192
}

// thinkingBudget is how many tokens a level of thinking may take; 0 for a level that asks for nothing in particular.
func thinkingBudget(level string) int {
	switch strings.ToLower(level) {
	case "low":
		return 2048
	case "medium":
		return 8192
	case "high":
		return 16384
	}
	return 0
}

// prepared is a body in memory.
type prepared []byte

// Bytes gives the body.
func (p prepared) Bytes() []byte { return p }

// Open gives a reader of it.
func (p prepared) Open() io.ReadCloser { return io.NopCloser(bytes.NewReader(p)) }

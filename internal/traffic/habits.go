package traffic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"mooring/internal/eval"
)

// habits are what a client does to a history that it sends again, without meaning anything by it.
type habits struct {
	marks     bool // cache marks move with the end
	parts     bool // older texts are lists of parts, the newest is a text
	thoughts  bool // thinking is sent back in the current tool loop only
	reminders bool // blocks that stand in the newest user message only
	notes     bool // a block in the first message that changes with every request
	clock     bool // a time in the system prompt
	midway    bool // a system message before the newest user message
	trim      bool // answers lose their outer white space
	pad       bool // answers gain some
	reargs    bool // tool arguments are written anew
	blank     bool // old tool results are blanked
	window    int  // only about so many of the last messages are sent; 0 for all
	unicode   bool // texts in another normal form
	models    bool // another model now and then
}

// some are up to n habits that a client of this protocol may have.
func (w *world) some(p protocol, n int) habits {
	h := habits{}
	all := []func(){
		func() { h.parts = true }, func() { h.reminders = true }, func() { h.clock = true }, func() { h.trim, h.pad = true, false },
		func() { h.pad, h.trim = true, false }, func() { h.reargs = true }, func() { h.blank = true }, func() { h.unicode = true },
		func() { h.models = true }, func() { h.notes = true },
	}
	if p == messages {
		all = append(all, func() { h.marks = true }, func() { h.thoughts = true })
	} else {
		all = append(all, func() { h.midway = true })
	}
	w.whim.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, f := range all[:n] {
		f()
	}
	if w.plain {
		return habits{}
	}
	return h
}

// each are all habits, one by one.
func each() []habits {
	return []habits{
		{marks: true},
		{parts: true},
		{thoughts: true},
		{reminders: true},
		{notes: true},
		{clock: true},
		{midway: true},
		{trim: true},
		{pad: true},
		{reargs: true},
		{blank: true},
		{window: 6},
		{unicode: true},
		{models: true},
	}
}

// keptResults is how many of the last messages keep their tool results.
const keptResults = 3

// view is the history as the talk's client sends it now.
func (t *talk) view() []message {
	h := &t.habits
	out := h.cut(slices.Clone(t.history))
	for i := range out {
		h.rewrite(&out[i], len(out)-1-i)
	}
	if h.midway && len(out) > 1 && out[len(out)-1].role == "user" {
		note := message{role: "system", text: fmt.Sprintf("The window shows %s now.", codeFile(t.w.whim))}
		out = slices.Insert(out, len(out)-1, note)
	}
	if h.models && t.sent > 0 && t.w.whim.IntN(3) == 0 {
		t.model += "-mini"
	}
	return append(slices.Clone(t.front), out...)
}

// cut leaves the oldest messages out.
func (h *habits) cut(all []message) []message {
	if h.window == 0 || len(all) <= h.window {
		return all
	}
	from := len(all) - h.window
	for from > 0 && all[from].role != "user" { // a list begins with a person's words
		from--
	}
	return all[from:]
}

// rewrite changes a message that stands so many before the last one.
func (h *habits) rewrite(m *message, back int) {
	if h.blank && back >= keptResults && m.role == "tool" {
		m.results = slices.Clone(m.results)
		for j := range m.results {
			m.results[j].text = "[old output removed]"
		}
	}
	if h.trim && m.role == "assistant" {
		m.text = strings.TrimSpace(m.text)
	}
	if h.pad && m.role == "assistant" && m.text != "" {
		m.text += "\n"
	}
	if h.unicode && back > 0 {
		m.text = norm.NFD.String(m.text)
	}
}

func (h *habits) systemOf(t *talk) string {
	if !h.clock {
		return t.system
	}
	return fmt.Sprintf("%s\nIt is %02d:%02d:%02d on the twelfth.", t.system, int(t.now)/3600+9, int(t.now)/60%60, int(t.now)%60)
}

// systemBlocks is a system prompt of the messages protocol, as blocks where cache marks are used.
func (h *habits) systemBlocks(system string) any {
	if !h.marks {
		return system
	}
	return []object{{"type": "text", "text": system, "cache_control": object{"type": "ephemeral"}}}
}

// reminded is a text with the blocks that the client injects at this place.
func (h *habits) reminded(t *talk, view []message, i int) string {
	text := view[i].text
	if view[i].role != "user" || text == "" {
		return text
	}
	if h.notes && i == len(t.front) {
		text = fmt.Sprintf("<system-reminder>\nChanged files: %d. Branch: %s\n</system-reminder>\n", t.w.whim.IntN(90), codeName(t.w.whim)) + text
	}
	if h.reminders && i == len(view)-1 {
		text += fmt.Sprintf("\n<system-reminder>The list of things to do has %d entries.</system-reminder>", t.w.whim.IntN(30))
	}
	return text
}

func (h *habits) chatContent(t *talk, view []message, i int) any {
	m := view[i]
	text := h.reminded(t, view, i)
	if m.image != "" {
		parts := []object{{"type": "image_url", "image_url": object{"url": "data:image/png;base64," + m.image}}}
		if text != "" {
			parts = append(parts, object{"type": "text", "text": text})
		}
		return parts
	}
	if h.parts && i < len(view)-1 && m.role != "system" {
		return []object{{"type": "text", "text": text}}
	}
	return text
}

func (h *habits) messagesContent(t *talk, view []message, i int) any {
	m := view[i]
	text := h.reminded(t, view, i)
	back := len(view) - 1 - i
	if m.image == "" && h.plainText(back) {
		return text
	}
	var blocks []object
	if m.image != "" {
		blocks = append(blocks, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": m.image}})
	}
	if text != "" {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	h.mark(blocks, back)
	return blocks
}

// plainText says that a text so many messages before the end is sent as such and not as a list of parts.
func (h *habits) plainText(back int) bool {
	return (!h.parts || back == 0) && (!h.marks || back >= 2)
}

// mark puts a cache mark on the last block of the newest messages.
func (h *habits) mark(blocks []object, back int) {
	if h.marks && back < 2 && len(blocks) > 0 {
		blocks[len(blocks)-1]["cache_control"] = object{"type": "ephemeral"}
	}
}

// keepsThinking says that the thinking of an answer is sent back.
func (h *habits) keepsThinking(view []message, i int) bool {
	if !h.thoughts {
		return true
	}
	return !slices.ContainsFunc(view[i:], func(m message) bool { return m.role == "user" })
}

// arguments are those of a call as the client writes them.
func (h *habits) arguments(t *talk, c eval.Call) string {
	if !h.reargs {
		return c.Arguments
	}
	return respaced(t.w.whim, c.Arguments)
}

// respaced writes an object anew, with other spaces and another order of its members.
func respaced(r *rand.Rand, text string) string {
	members := splitMembers(text)
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{ " + strings.Join(members, ", ") + " }"
}

// splitMembers gives the members of a flat JSON object, as they are written.
func splitMembers(text string) []string {
	var out []string
	inside, start := false, 1
	for i := 1; i < len(text)-1; i++ {
		switch {
		case text[i] == '\\' && inside:
			i++
		case text[i] == '"':
			inside = !inside
		case text[i] == ',' && !inside:
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:len(text)-1])
}

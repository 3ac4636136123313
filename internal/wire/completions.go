package wire

import "mooring"

// completionsDialect reads OpenAI's completions: one prompt, which is a message of the user, and the text that goes on from it.
func completionsDialect() dialect {
	return dialect{
		talk:       "prompt",
		read:       completionsPrompt,
		terminator: "data: " + doneData + "\n\n",
		lastEvent:  shortEvent,
		form:       completionsForm,
		part:       func(n *normal, _, part []byte) { n.opaque(part) },
		render:     completionsRender,
		answer:     completionsAnswer,
		usage:      func(a *assembly) mooring.Usage { return chatUsage(a.usage) },
		ends:       chatEnds,
		event:      completionsEvent,
		message:    completionsMessage,
		whole:      completionsWhole,
		fault:      chatFault,
		faultFor:   chatFaultType,
	}
}

// completionsPrompt reads the prompt. There may be none: a model can begin by itself.
func completionsPrompt(r *reader) error {
	v, err := r.value()
	if err == nil && (kindOf(v) == '"' || kindOf(v) == '[') {
		r.req.Messages = append(r.req.Messages, Message{Role: roleUser, Raw: v, At: r.offset() - len(v)})
	}
	return err
}

// completionsForm appends the form of a prompt, or of the message that an answer is kept as. Several prompts are one text;
// prompts of tokens are what they are.
func completionsForm(n *normal, d dialect, raw []byte) error {
	if kindOf(raw) == '{' {
		return n.object(d, raw)
	}
	n.role(roleUser)
	for text := range promptTexts(raw) {
		n.text(text)
		n.spoken(0) // each prompt is one of its own
	}
	if kindOf(raw) == '[' && !isText(raw) {
		n.canonical('x', raw)
	}
	return nil
}

// promptTexts gives the texts of a prompt, raw.
func promptTexts(prompt []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if kindOf(prompt) == '"' {
			yield(prompt)
			return
		}
		for one := range elements(prompt) {
			if kindOf(one) == '"' && !yield(one) {
				return
			}
		}
	}
}

// isText says that all prompts of a list are texts.
func isText(list []byte) bool {
	for one := range elements(list) {
		if kindOf(one) != '"' {
			return false
		}
	}
	return true
}

func completionsRender(r *rendering, message []byte) {
	if kindOf(message) == '{' {
		r.content(member(message, "content"))
		return
	}
	for text := range promptTexts(message) {
		r.content(text)
	}
}

// completionsAnswer reads a buffered answer: its first choice.
func completionsAnswer(body []byte) Answer {
	return firstChoice(body, func(choice []byte) []byte {
		if text := member(choice, "text"); kindOf(text) == '"' {
			return messageOf(text)
		}
		return nil
	})
}

// completionsEvent adds a chunk to the answer.
func completionsEvent(a *assembly, _, data []byte) EventClass {
	return chunk(a, data, completionsChoice)
}

// completionsChoice adds a choice's piece of text; of several choices only the first is kept.
func completionsChoice(a *assembly, choice []byte) EventClass {
	var index, text, finish []byte
	for name, v := range members(choice) {
		switch string(name) {
		case "index":
			index = v
		case "text":
			text = inner(v)
		case "finish_reason":
			finish = inner(v)
		}
	}
	a.choice(index, len(finish) > 0)
	if present(index) && string(index) != "0" {
		return Content
	}
	class := Opening
	if len(text) > 0 {
		class = Content
		a.grow(&a.at(chatContent, 0).text, text)
	}
	if len(finish) > 0 {
		class = Content
		a.finish = append(a.finish[:0], finish...)
	}
	return class
}

// completionsMessage is the assistant message that the answer is kept as.
func completionsMessage(a *assembly) []byte {
	text := a.find(chatContent)
	if text == nil && len(a.finish) == 0 && !a.ended {
		return nil
	}
	if text == nil {
		text = &piece{}
	}
	return messageOf(appendEscaped(nil, text.text))
}

// completionsWhole is the buffered answer that a stream stands for.
func completionsWhole(a *assembly, message []byte) []byte {
	choice := appendMember([]byte{'{'}, "index", []byte{'0'})
	choice = appendMember(choice, "text", member(message, "content"))
	choice = appendMember(choice, "logprobs", []byte("null"))
	return wholeOf(a, "text_completion", choice)
}

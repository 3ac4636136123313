package wire

import (
	"bytes"
	"slices"
)

// seals are members and types of what only the server that made it can read, or vouch for: encrypted reasoning and search results
// (OpenAI's responses, Anthropic's messages), signed and redacted thinking (Anthropic), the same as OpenRouter and Gemini send it in
// chat completions, and what names a container of OpenAI's code interpreter. Within a text a quote is escaped, so none is found there.
func seals() [6]string {
	return [...]string{
		`"encrypted_content"`, `"signature"`, `"redacted_thinking"`, `"reasoning.encrypted"`, `"thought_signature"`, `"container_id"`,
	}
}

// Sealed says whether the conversation in a request's body holds something that only its maker can read. It reads all of it, so it is
// asked only where something hangs on it.
func (r *Request) Sealed(body []byte) bool {
	talk := body[r.TalkAt[0]:r.TalkAt[1]]
	all := seals()
	return slices.ContainsFunc(all[:], func(seal string) bool { return bytes.Contains(talk, []byte(seal)) })
}

package wire

// Field is a member of a request body that may say something of its session. Which ones there are, the catalogue of identify
// says; a test there keeps the two in step.
type Field struct {
	Path  string // as in "metadata.session_id"
	Value string // the text, or a number as it was written
}

type fieldUse int

const (
	notCatalogued fieldUse = iota
	plainID                // a text or number
	idOrObject             // a text, or an object with an id
	idsInside              // an object whose members are in the catalogue
)

// named are the members whose text or number may say something; those of the second part only look as if they did.
func named() [26]string {
	return [...]string{
		"session_id", "litellm_session_id", "litellm_trace_id", "prompt_cache_key", "previous_response_id", "conversation",
		"metadata.user_id", "metadata.session_id", "metadata.sessionId", "request.session_id", "requesty.trace_id", "unbound_metadata.taskId",
		"client_metadata.session_id", "client_metadata.thread_id", "client_metadata.x-codex-turn-metadata",
		"client_metadata.x-codex-parent-thread-id", "client_metadata.x-openai-subagent",

		"user", "safety_identifier", "user_prompt_id", "container", "metadata.promptId", "metadata.run_id",
		"client_metadata.turn_id", "client_metadata.x-codex-window-id", "client_metadata.x-codex-installation-id",
	}
}

// FieldPaths are the paths that Fields may have.
func FieldPaths() []string {
	all := named()
	return all[:]
}

// catalogue says what a member of a body may be.
func catalogue(path string) fieldUse {
	switch path {
	case "conversation", "container":
		return idOrObject
	case "metadata", "client_metadata", "request", "requesty", "unbound_metadata":
		return idsInside
	}
	for _, name := range named() {
		if path == name {
			return plainID
		}
	}
	return notCatalogued
}

// appendFields adds what a top-level member tells.
func appendFields(fields []Field, name string, value []byte) []Field {
	use := catalogue(name)
	switch {
	case use == idsInside:
		for inside, v := range members(value) {
			if path := name + "." + string(inside); catalogue(path) == plainID {
				fields = appendField(fields, path, v)
			}
		}
	case use == idOrObject && kindOf(value) == '{':
		fields = appendField(fields, name, member(value, "id"))
	case use != notCatalogued:
		fields = appendField(fields, name, value)
	}
	return fields
}

func appendField(fields []Field, path string, value []byte) []Field {
	switch k := kindOf(value); {
	case k == '"':
		return append(fields, Field{Path: path, Value: string(plain(value))})
	case k == '-' || '0' <= k && k <= '9':
		return append(fields, Field{Path: path, Value: string(value)})
	}
	return fields
}

// TextOf gives the text of a message, or of a system prompt that stands beside the messages: a raw message, a raw text or a raw list of parts. Injected
// blocks and billing lines are left out.
func TextOf(raw []byte) string { return string(spoken(raw)) }

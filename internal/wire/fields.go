package wire

// Field is a member of a request body that may name its session.
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

// catalogue says which members of a body may name a session.
func catalogue(path string) fieldUse {
	switch path {
	case "session_id", "litellm_session_id", "litellm_trace_id", "prompt_cache_key", "user",
		"previous_response_id", "conversation_id", "chat_id", "thread_id",
		"metadata.user_id", "metadata.session_id", "metadata.sessionId",
		"client_metadata.session_id", "client_metadata.thread_id", "client_metadata.x-codex-turn-metadata",
		"request.session_id":
		return plainID
	case "conversation":
		return idOrObject
	case "metadata", "client_metadata", "request":
		return idsInside
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

package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"mooring"
)

// calls writes the arguments of calls anew.
func (w writer) calls(p mooring.Protocol, m map[string]any) {
	if p == mooring.Messages {
		parts, _ := m["content"].([]any)
		for _, each := range parts {
			if part, ok := each.(map[string]any); ok && part["type"] == "tool_use" {
				part["input"] = w.input(part["input"])
				part["caller"] = map[string]any{"type": "direct"}
			}
		}
		return
	}
	list, _ := m["tool_calls"].([]any)
	for i, each := range list {
		call, _ := each.(map[string]any)
		if function, ok := call["function"].(map[string]any); ok {
			w.arguments(function)
		}
		if delete(call, "index"); w.coin() {
			call["index"] = json.Number(fmt.Sprint(i))
		}
	}
	if function, ok := m["function_call"].(map[string]any); ok {
		w.arguments(function)
	}
}

// arguments writes the text of a call's arguments anew.
func (w writer) arguments(call map[string]any) {
	text, _ := call["arguments"].(string)
	v, err := decode([]byte(text))
	if strings.TrimSpace(text) == "" {
		v, err = map[string]any{}, nil
	}
	object, isObject := v.(map[string]any)
	switch {
	case err != nil:
	case isObject && len(object) == 0:
		call["arguments"] = w.one("", "{}", " { } ")
	default:
		call["arguments"] = string(w.render(nil, w.input(v)))
	}
}

// input gives a call's arguments with numbers and texts in other forms.
func (w writer) input(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[w.form(name)] = w.input(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = w.input(v[i])
		}
		return out
	case string:
		return w.form(v)
	case json.Number:
		if digits := string(v); len(digits) < 10 && !strings.ContainsAny(digits, ".eE") && digits != "-0" {
			return json.Number(digits + w.one("", ".0", "e0", "E+00", ".00e0"))
		}
	}
	return v
}

// form gives a text in another Unicode form.
func (w writer) form(text string) string {
	if w.coin() {
		return norm.NFD.String(text)
	}
	return norm.NFC.String(text)
}

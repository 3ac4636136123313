package wiretest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"mooring"
)

// prompt changes a prompt of completions, or the message that an answer is kept as.
func (w writer) prompt(value any) any {
	switch v := value.(type) {
	case string:
		if w.coin() {
			return []any{v}
		}
		return w.text("user", v, loose)
	case []any:
		if len(v) == 1 && w.coin() {
			return v[0]
		}
	case map[string]any:
		w.message(mooring.Chat, v)
	}
	return value
}

// items changes a message of responses: a text, an item, or the items of an answer.
func (w writer) items(value any) any {
	switch v := value.(type) {
	case string:
		if w.coin() {
			return w.text("user", v, loose)
		}
		return map[string]any{"role": "user", "content": v}
	case map[string]any:
		if isAnswer(v) && w.IntN(3) == 0 {
			return []any{v}
		}
		w.item(v, loose)
	case []any:
		return w.list(v)
	}
	return value
}

func isAnswer(item map[string]any) bool {
	kind, _ := item["type"].(string)
	return item["role"] == "assistant" || kind == "function_call" || kind == "custom_tool_call"
}

func (w writer) list(list []any) any {
	switch w.IntN(4) {
	case 0:
		if len(list) == 1 {
			return list[0]
		}
	case 1:
		return w.insert(list, w.asideItem())
	case 2:
		return slices.DeleteFunc(list, func(each any) bool {
			item, _ := each.(map[string]any)
			return item["type"] == "reasoning" && len(list) > 1
		})
	default:
		if len(list) == 0 {
			return list
		}
		where := tight
		if len(list) == 1 {
			where = loose
		}
		if item, ok := list[w.IntN(len(list))].(map[string]any); ok {
			w.item(item, where)
		}
	}
	return list
}

// asideItem is an item that clients keep or drop.
func (w writer) asideItem() any {
	if w.coin() {
		return map[string]any{"type": "web_search_call", "id": "ws_1", "status": "completed"}
	}
	return map[string]any{"type": "reasoning", "id": "rs_" + w.one("1", "2"), "summary": []any{}, "encrypted_content": "AAAA"}
}

// item changes one item.
func (w writer) item(item map[string]any, where edge) {
	kind, _ := item["type"].(string)
	role, _ := item["role"].(string)
	for _, name := range []string{"id", "status", "phase"} {
		if delete(item, name); w.coin() {
			item[name] = w.one("x_1", "completed", "commentary")
		}
	}
	switch {
	case kind == "" && role != "" || kind == "message":
		if delete(item, "type"); w.coin() {
			item["type"] = "message"
		}
		if parts, isList := item["content"].([]any); isList || item["content"] != nil && where == loose {
			if isList && where == tight && len(parts) == 1 {
				return // beside other items its ends are not the ends of the answer
			}
			item["content"] = w.content(mooring.Responses, role, item["content"])
		}
	case kind == "function_call":
		w.arguments(item)
	case strings.HasSuffix(kind, "_output"):
		switch item["output"].(type) {
		case string, []any:
			item["output"] = w.content(mooring.Responses, "tool", item["output"])
		}
	}
}

// sortThenShuffle makes an order that depends on the source alone.
func sortThenShuffle(r *rand.Rand, names []string) {
	slices.Sort(names)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
}

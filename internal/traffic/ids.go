package traffic

import (
	"fmt"
	"maps"
	"strings"

	"mooring/internal/eval"
)

// naming is how a program names a conversation.
type naming struct {
	client string
	proto  protocol
	id     func(w *world) string
	header []string // that carry the id
	field  string   // of the body that does
	always eval.Headers
}

func namings() []naming {
	id := func(f func(w *world) string) func(w *world) string { return f }
	plain := id(func(w *world) string { return uuid(w.rng) })
	return []naming{
		{"pages", chat, plain, []string{"x-conversation-id"}, "", nil},
		{"pages", messages, plain, []string{"x-chat-id"}, "", nil},
		{"threads", chat, id(func(w *world) string { return fmt.Sprintf("thread-%d", w.talks) }), []string{"x-thread-id"}, "", nil},
		{"openwebui", chat, plain, []string{"x-openwebui-chat-id"}, "", eval.Headers{"x-openwebui-user-id": {"0f1d7c52-7a13-4b9e-9d54-3a1b6f0c9e11"}, "x-openwebui-user-name": {"Ada"}}},
		{"goose", chat, id(func(w *world) string { return fmt.Sprintf("20261130_%d", w.talks) }), []string{"agent-session-id"}, "", eval.Headers{"user-agent": {"goose/1.49.0"}}},
		{"crush", chat, id(func(w *world) string { return hexText(w.rng, 16) }), []string{"x-session-id", "x-session-affinity"}, "", eval.Headers{"user-agent": {"Charm-Crush/0.31"}}},
		{"roo", messages, plain, []string{"x-roo-task-id"}, "", eval.Headers{"x-roo-app-version": {"4.1.2"}}},
		{"cline", chat, id(func(w *world) string { return fmt.Sprintf("17900%08d", w.rng.IntN(1e8)) }), []string{"x-task-id"}, "", nil},
		{"amp", messages, id(func(w *world) string { return "T-" + uuid(w.rng) }), []string{"x-amp-thread-id"}, "", nil},
		{"litellm", chat, plain, []string{"x-litellm-session-id"}, "", nil},
		{"helicone", chat, plain, []string{"helicone-session-id"}, "", eval.Headers{"helicone-session-name": {"nightly"}}},
		{"hermes", chat, id(func(w *world) string { return "20261130_" + hexText(w.rng, 6) }), []string{"x-hermes-session-id"}, "", eval.Headers{"x-hermes-session-key": {"agent:main:web:dm:user-7"}}},
		{"openrouter", chat, id(func(w *world) string { return "batch-" + mixedText(w.rng, 20) }), nil, "session_id", nil},
		{"zed", chat, plain, nil, "prompt_cache_key", nil},
		{"qwen", chat, plain, nil, "metadata.sessionId", nil},
		{"litellm", chat, plain, nil, "litellm_session_id", nil},
		{"novel", chat, id(func(w *world) string { return hexText(w.rng, 24) }), []string{"x-quayside-session-id"}, "", nil},
	}
}

// name lets a talk send an id as this program does.
func (n naming) name(t *talk, id string) {
	t.client, t.named = n.client, true
	t.headers = func() eval.Headers {
		h := eval.Headers{}
		maps.Copy(h, n.always)
		for _, name := range n.header {
			h[name] = []string{id}
		}
		h["x-request-id"] = []string{uuid(t.w.rng)}
		return h
	}
	if n.field == "" {
		return
	}
	t.fields = func(b object) {
		if outer, inner, nested := strings.Cut(n.field, "."); nested {
			b[outer] = object{inner: id, "promptId": id + fmt.Sprintf("#%d", t.sent)}
			return
		}
		b[n.field] = id
	}
}

// ids: every kind of id, kept for the life of a conversation; openers are the same.
func ids(w *world) {
	opening := w.open(chat)
	same, answer := opening.opening(), opening.lang.paragraph(w.rng, opening.topic)
	for _, n := range namings() {
		for i := range 2 {
			t := w.open(n.proto)
			n.name(t, n.id(w))
			t.history = append(t.history, message{role: "user", text: same})
			t.ask(turnOptions{reply: &eval.Reply{Status: 200, Text: answer, ToolCalls: []eval.Call{}}})
			if i == 1 {
				t.history = t.history[:1] // the first answer once more: the id says whose it is
				t.ask(turnOptions{})
			}
			for range 2 + w.rng.IntN(2) {
				t.say(t.follow())
			}
		}
	}
}

// rotated: an id that the program makes anew at each start.
func rotated(w *world) {
	for range 7 {
		t := w.coder(chat)
		t.client, t.named = "oldcoder", true
		id := "ses_" + mixedText(w.rng, 26)
		t.headers = func() eval.Headers { return eval.Headers{"x-session-affinity": {id}} }
		for range 2 + w.rng.IntN(2) {
			t.task(chore(w.rng), 1+w.rng.IntN(3))
			t.wait(20, 200)
			id = "ses_" + mixedText(w.rng, 26)
		}
		t.task(chore(w.rng), 1)
	}
}

// lateIDs: the id comes with the second or a later request; before, there was none or a placeholder.
func lateIDs(w *world) {
	placeholders := []string{"", "new", "undefined", "null", "{{LIBRECHAT_BODY_CONVERSATIONID}}", "00000000-0000-0000-0000-000000000000", "default"}
	for _, p := range placeholders {
		for _, name := range []string{"x-conversation-id", "x-session-id", "x-hermes-session-id"} {
			t := w.open(chat)
			t.client = "late"
			id, last := uuid(w.rng), 1+w.rng.IntN(2)
			t.headers = func() eval.Headers {
				switch {
				case t.sent >= last:
					return eval.Headers{name: {id}}
				case p == "":
					return nil
				}
				return eval.Headers{name: {p}}
			}
			t.chatter(4)
		}
	}
}

// disagreeingIDs: header and body name two conversations; the header decides. A new id is another conversation.
func disagreeingIDs(w *world) {
	for range 4 {
		shared := uuid(w.rng)
		for range 2 {
			t := w.open(chat)
			t.client, t.named = "proxy", true
			id := uuid(w.rng)
			t.headers = func() eval.Headers { return eval.Headers{"x-chat-id": {id}} }
			t.fields = func(b object) { b["session_id"] = shared }
			t.chatter(3)
		}
		t := w.open(messages)
		t.client, t.named = "claude-code", true
		id, other := uuid(w.rng), uuid(w.rng)
		t.headers = func() eval.Headers {
			return eval.Headers{"x-claude-code-session-id": {id}, "user-agent": {"claude-cli/2.1.332 (external, cli)"}}
		}
		t.fields = func(b object) {
			b["metadata"] = object{"user_id": string(encode(object{"device_id": hexText(w.rng, 64), "account_uuid": "", "session_id": other}))}
		}
		t.chatter(3)
		fork := w.open(messages) // a fork by id: another conversation with the same beginning
		fork.client, fork.named, fork.now, fork.system, fork.lang, fork.topic = t.client, true, t.now, t.system, t.lang, t.topic
		fork.history = append(fork.history, t.history[:4]...)
		forked := uuid(w.rng)
		fork.headers = func() eval.Headers {
			return eval.Headers{"x-claude-code-session-id": {forked}, "user-agent": {"claude-cli/2.1.332 (external, cli)"}}
		}
		before := len(w.lines)
		fork.say(fork.follow())
		fork.say(fork.follow())
		t.now = max(t.now, fork.now)
		t.say(t.follow())
		for i := before; i < len(w.lines); i++ {
			if w.lines[i].Truth.Session == fork.session {
				w.lines[i].Truth.ParentFree = true
			}
		}
	}
}

// unlistedHeader: a header that nobody knows keeps one value through a conversation, beside others that look like it.
func unlistedHeader(w *world) {
	machine := hexText(w.rng, 32)
	for range 10 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.client = "unlisted"
		id := hexText(w.rng, 20)
		t.headers = func() eval.Headers {
			return eval.Headers{"x-plank-thread": {id}, "x-plank-machine": {machine}, "x-plank-call": {uuid(w.rng)}, "user-agent": {"plank/0.4"}}
		}
		t.habits = w.some(t.proto, 1)
		t.chatter(4)
	}
}

// learnedHeader: once many conversations have shown what an unlisted header names, the program keeps its histories to itself and
// sends what is new alone: nothing else names the conversation then.
func learnedHeader(w *world) {
	person := uuid(w.rng)
	for i := range 16 {
		t := w.open(chat)
		t.client = "unlisted"
		id := mixedText(w.rng, 22)
		t.headers = func() eval.Headers {
			return eval.Headers{"x-plank-thread": {id}, "x-plank-person": {person}, "x-plank-call": {uuid(w.rng)}}
		}
		if i < 10 {
			t.chatter(4)
			continue
		}
		t.now += 600 // when the others are through
		for range 3 {
			t.history = []message{{role: "user", text: t.follow() + " " + t.opening()}}
			t.ask(turnOptions{})
		}
	}
}

// sharedID: a program sends the id of the root with everything that its agents do.
func sharedID(w *world) {
	for range 5 {
		t := w.coder(chat)
		t.client, t.named = "hands", true
		id := uuid(w.rng)
		t.headers = func() eval.Headers { return eval.Headers{"x-litellm-session-id": {id}} }
		t.fields = func(b object) { b["prompt_cache_key"] = id }
		t.task(chore(w.rng), 2)
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		prompts := []string{errand(w.rng), errand(w.rng)}
		t.spawn(prompts...)
		reports := make([]string, len(prompts))
		end := t.now
		for i, p := range prompts {
			s := t.sub("You run one errand and report.")
			s.named, s.headers, s.fields = true, t.headers, t.fields
			reports[i] = s.task(p, 1+w.rng.IntN(3)).Text
			end = max(end, s.now)
		}
		t.now = end
		t.collect(reports)
		t.work(1)
		t.task(chore(w.rng), 1)
	}
}

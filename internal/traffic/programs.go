package traffic

import (
	"maps"

	"mooring"
	"mooring/internal/eval"
)

// claudeHeaders are those of Claude Code; agent and parent agent are empty for none.
func claudeHeaders(w *world, id, agent, parent string) eval.Headers {
	h := eval.Headers{
		"user-agent": {"claude-cli/2.1.332 (external, cli)"}, "x-app": {"cli"}, "anthropic-version": {"2023-06-01"}, "x-claude-code-session-id": {id},
		"x-client-request-id": {uuid(w.rng)}, "x-stainless-retry-count": {"0"},
	}
	if agent != "" {
		h["x-claude-code-agent-id"] = []string{agent}
	}
	if parent != "" {
		h["x-claude-code-parent-agent-id"] = []string{parent}
	}
	return h
}

// claude: Claude Code with sub-agents, nested ones too, pings, titles, token counts and compaction.
func claude(w *world) {
	for i := range 4 {
		c := &claudeCode{talk: w.coder(messages), id: uuid(w.rng), hints: i%2 == 0}
		t := c.talk
		t.client, t.path, t.named = "claude-code", "/v1/messages?beta=true", true
		device := hexText(w.rng, 64)
		if !w.plain {
			t.habits = habits{marks: true, thoughts: true, notes: true}
		}
		t.headers = func() eval.Headers { return claudeHeaders(w, c.id, "", "") }
		t.fields = func(b object) {
			b["metadata"] = object{"user_id": string(encode(object{"device_id": device, "account_uuid": "", "session_id": c.id}))}
		}
		prompt := chore(w.rng)
		c.beside("quota", "", 1)
		c.beside(prompt, pick(w.rng, languages()[0].titles), 200)
		t.task(prompt, 2)
		count := object{"model": t.model, "messages": t.messagesList(t.view())}
		t.send(turnOptions{kind: mooring.KindSide, body: count, path: "/v1/messages/count_tokens?beta=true"})
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		c.agents()
		t.work(2)
		t.compact(languages()[0], func(h eval.Headers) eval.Headers { return c.class(h, "compaction") })
		t.task(chore(w.rng), 2)
	}
}

// claudeCode is one running program.
type claudeCode struct {
	*talk
	id    string
	hints bool // it says what kind of request it sends
}

func (c *claudeCode) class(h eval.Headers, name string) eval.Headers {
	if c.hints {
		h["x-claude-code-request-class"] = []string{name}
	}
	return h
}

// beside sends a request that is no part of the talk.
func (c *claudeCode) beside(words, system string, most int) {
	body := object{"model": "claude-wren-3", "max_tokens": most, "messages": []object{{"role": "user", "content": words}}}
	if system != "" {
		body["system"] = system
	}
	c.fields(body)
	c.send(turnOptions{kind: mooring.KindSide, body: body, headers: c.class(c.headers(), "auxiliary")})
}

// agent begins a sub-agent below a talk.
func (c *claudeCode) agent(of *talk, agent, parent string) *talk {
	s := of.sub("You look things up in a repository and report.")
	s.named, s.fields, s.habits = true, c.fields, c.habits
	s.headers = func() eval.Headers { return c.class(claudeHeaders(c.w, c.id, agent, parent), "subagent") }
	return s
}

// agents runs two sub-agents side by side, one of which has one of its own.
func (c *claudeCode) agents() {
	r := c.w.rng
	prompts := []string{errand(r), errand(r)}
	c.spawn(prompts...)
	first := c.agent(c.talk, "a"+hexText(r, 16), "")
	reports := []string{first.task(prompts[0], 2).Text}
	name := "a" + hexText(r, 16)
	second := c.agent(c.talk, name, "")
	second.history = append(second.history, message{role: "user", text: prompts[1]})
	deeper := errand(r)
	second.spawn(deeper)
	inner := c.agent(second, "a"+hexText(r, 16), name)
	found := inner.task(deeper, 1).Text
	second.now = inner.now
	second.collect([]string{found})
	reports = append(reports, second.work(1).Text)
	c.now = max(first.now, second.now)
	c.collect(reports)
}

// claudeLegacy: older Claude Code, whose sub-agents and titles send the parent's id and nothing else.
func claudeLegacy(w *world) {
	for range 4 {
		t := w.coder(messages)
		t.client, t.path, t.named = "claude-code-legacy", "/v1/messages?beta=true", true
		user := "user_" + hexText(w.rng, 64) + "_account__session_" + uuid(w.rng)
		t.headers = func() eval.Headers {
			return eval.Headers{"user-agent": {"claude-cli/2.0.31 (external, cli)"}, "x-app": {"cli"}, "anthropic-version": {"2023-06-01"}}
		}
		t.fields = func(b object) { b["metadata"] = object{"user_id": user} }
		ping := object{"model": "claude-wren-3", "max_tokens": 1, "messages": []object{{"role": "user", "content": "quota"}}}
		t.fields(ping)
		t.send(turnOptions{kind: mooring.KindSide, body: ping})
		prompt := chore(w.rng)
		title := object{"model": "claude-wren-3", "max_tokens": 200, "system": []object{{"type": "text", "text": pick(w.rng, languages()[0].titles)}}, "messages": []object{{"role": "user", "content": prompt}}}
		t.fields(title)
		t.send(turnOptions{kind: mooring.KindSide, body: title})
		t.task(prompt, 2)
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		t.hand(func() *talk {
			s := t.sub("You look things up in a repository and report.")
			s.named, s.headers, s.fields = true, t.headers, t.fields
			return s
		}, func() int { return 1 + w.rng.IntN(3) })
		t.compact(languages()[0], nil)
		t.task(chore(w.rng), 1)
	}
}

// codex: threads below a session, prewarm requests, compaction on its own route.
func codex(w *world) {
	for range 4 {
		root := uuid7(w.rng)
		begin := func(t *talk, thread string, more eval.Headers) {
			t.client, t.named = "codex", true
			t.headers = func() eval.Headers {
				h := eval.Headers{
					"user-agent": {"codex_cli_rs/0.171.0"}, "originator": {"codex_cli_rs"}, "session-id": {root}, "thread-id": {thread},
					"x-client-request-id": {thread}, "x-codex-window-id": {thread + ":0"},
				}
				maps.Copy(h, more)
				return h
			}
			t.fields = func(b object) {
				b["store"], b["prompt_cache_key"] = false, thread
				b["client_metadata"] = object{"session_id": root, "thread_id": thread}
			}
		}
		t := w.coder(responses)
		begin(t, root, nil)
		warm := t.body(nil)
		warm["input"] = []object{}
		t.send(turnOptions{kind: mooring.KindSide, body: warm, reply: &eval.Reply{Status: 200, ToolCalls: []eval.Call{}}})
		t.task(chore(w.rng), 2)
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		prompt := errand(w.rng)
		t.spawn(prompt)
		s := t.sub("You are a helper thread.")
		begin(s, uuid7(w.rng), eval.Headers{"x-codex-parent-thread-id": {root}, "x-openai-subagent": {"collab_spawn"}})
		report := s.task(prompt, 2).Text
		t.now = s.now
		t.collect([]string{report})
		t.work(1)
		t.send(turnOptions{kind: mooring.KindCompaction, path: "/v1/responses/compact"})
		t.history = []message{{role: "user", text: "Handed over: " + t.lang.paragraph(w.rng, t.topic)}, {role: "user", text: chore(w.rng)}}
		t.work(1)
	}
}

// opencode: one id in three headers, children with ids of their own, titles under the parent's id.
func opencode(w *world) {
	for range 4 {
		id := "ses_" + mixedText(w.rng, 26)
		headers := func(id, parent string) func() eval.Headers {
			return func() eval.Headers {
				h := eval.Headers{"user-agent": {"opencode/1.18.34"}, "x-session-affinity": {id}, "x-session-id": {id}, "x-opencode-session-id": {id}, "x-opencode-request": {"msg_" + mixedText(w.rng, 26)}}
				if parent != "" {
					h["x-parent-session-id"], h["x-opencode-parent-session-id"] = []string{parent}, []string{parent}
				}
				return h
			}
		}
		t := w.coder(chat)
		t.client, t.named, t.headers = "opencode", true, headers(id, "")
		prompt := chore(w.rng)
		t.send(turnOptions{kind: mooring.KindSide, body: object{
			"model": t.model + "-mini", "messages": []object{{"role": "system", "content": pick(w.rng, languages()[0].titles)}, {"role": "user", "content": prompt}}, "stream": true,
		}})
		t.task(prompt, 2)
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		t.hand(func() *talk {
			s := t.sub("You explore.")
			s.named, s.headers = true, headers("ses_"+mixedText(w.rng, 26), id)
			return s
		}, func() int { return 1 })
		t.compact(languages()[0], nil)
		t.task(chore(w.rng), 1)
	}
}

// hand gives two errands to helpers that work side by side, each for so many steps, and goes on with what they report.
func (t *talk) hand(helper func() *talk, steps func() int) {
	prompts := []string{errand(t.w.rng), errand(t.w.rng)}
	t.spawn(prompts...)
	var reports []string
	end := t.now
	for _, p := range prompts {
		s := helper()
		reports = append(reports, s.task(p, steps()).Text)
		end = max(end, s.now)
	}
	t.now = end
	t.collect(reports)
	t.work(1)
}

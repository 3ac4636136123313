package identify_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/identify"
)

// In this order ids decide; a name with a dot or a capital letter that is no header stands for a member of the body.
var byRank = []string{
	"x-claude-code-session-id", "thread-id", "session-id", "conversation-id", "x-opencode-session-id", "x-opencode-session", "x-kilocode-taskid",
	"x-roo-task-id", "x-task-id", "x-amp-thread-id", "agent-session-id", "goose-session-id", "x-hermes-session-id", "x-openclaw-session-key",
	"x-openwebui-chat-id", "x-grok-conv-id",
	"body:client_metadata.thread_id", "body:client_metadata.session_id", "body:client_metadata.x-codex-turn-metadata", "body:metadata.user_id",
	"body:metadata.sessionId", "body:request.session_id",
	"body:conversation",
	"x-claude-session-id", "x-session-id", "x-session-affinity", "x-affinity", "x-conversation-id", "x-chat-id", "x-thread-id", "x-litellm-session-id",
	"body:session_id", "body:litellm_session_id", "body:metadata.session_id", "helicone-session-id", "x-shop-chat",
}

var generic = []string{"x-hermes-session-id", "x-claude-session-id", "x-session-id", "x-conversation-id", "x-chat-id", "x-thread-id", "body:session_id"}

// carries puts an id into a request under a name of byRank.
func carries(name, id string) ask {
	path, ok := strings.CutPrefix(name, "body:")
	if !ok {
		return ask{header: header(http.CanonicalHeaderKey(name), id)}
	}
	switch path {
	case "metadata.user_id":
		return ask{body: fmt.Sprintf(`"metadata":{"user_id":%q},`, fmt.Sprintf(`{"device_id":"d","session_id":%q}`, id))}
	case "client_metadata.x-codex-turn-metadata":
		return ask{body: fmt.Sprintf(`"client_metadata":{"x-codex-turn-metadata":%q},`, fmt.Sprintf(`{"thread_id":%q,"turn_id":"t"}`, id))}
	}
	out := fmt.Sprintf("%q", id)
	outer, inner, ok := strings.Cut(path, ".")
	if ok {
		out = fmt.Sprintf(`{%q:%s}`, inner, out)
	}
	return ask{body: fmt.Sprintf(`%q:%s,`, outer, out)}
}

func identityOf(name string) string {
	if strings.HasPrefix(name, "body:") {
		return name
	}
	return "header:" + name
}

func TestEveryNameOfTheCatalogueNamesASession(t *testing.T) {
	t.Parallel()
	for _, name := range byRank {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "X-Shop-Chat")
			first := h.turn(carries(name, "short-1"))
			if !first.New || first.Identity != identityOf(name) || first.ClientID != "short-1" || !first.Sent || first.Known.Key != "short-1" {
				t.Errorf("new = %v, identity = %s, id = %q, key = %q", first.New, first.Identity, first.ClientID, first.Known.Key)
			}
			if again := h.turn(carries(name, "short-1")); again.New || again.Known.ID != first.Known.ID || again.Kind != mooring.KindMain {
				t.Errorf("again: new = %v, %s, want %s", again.New, again.Known.ID, first.Known.ID)
			}
			if other := h.turn(carries(name, "short-2")); !other.New {
				t.Error("another id finds the session")
			}
			foreign := carries(name, "short-1")
			foreign.tenant = "globex"
			if f := h.turn(foreign); !f.New {
				t.Error("another tenant finds the session")
			}
			if strings.HasPrefix(name, "body:") {
				return
			}
			for _, spelled := range []string{strings.ToUpper(name), strings.ReplaceAll(name, "-", "_"), name} {
				if f := h.resolve(ask{header: header(spelled, "short-1")}); f.Known.ID != first.Known.ID {
					t.Errorf("as %s: %s, want %s", spelled, f.Known.ID, first.Known.ID)
				}
			}
		})
	}
}

func TestHigherNameDecides(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "X-Shop-Chat")
	for i := range byRank[1:] {
		upper, lower := carries(byRank[i], "upper"), carries(byRank[i+1], "lower")
		both := ask{header: http.Header{}, body: upper.body + lower.body}
		if outer, _, inside := strings.Cut(byRank[i], "."); inside && strings.HasPrefix(byRank[i+1], outer+".") { // members of one object
			both.body = strings.Replace(both.body, fmt.Sprintf("},%q:{", strings.TrimPrefix(outer, "body:")), ",", 1)
		}
		for _, part := range []ask{upper, lower} {
			maps.Copy(both.header, part.header)
		}
		f := h.resolve(both)
		if f.Identity != identityOf(byRank[i]) || f.ClientID != "upper" {
			t.Errorf("%s with %s: identity = %s, id = %q", byRank[i], byRank[i+1], f.Identity, f.ClientID)
		}
		want := []mooring.Evidence{
			{Signal: identityOf(byRank[i]), Says: "session", Value: "upper", Points: "new", Use: "decided"},
			{Signal: identityOf(byRank[i+1]), Says: "session", Value: "lower", Use: "ignored", Why: "another value than the stronger " + identityOf(byRank[i])},
		}
		got := append([]mooring.Evidence{}, f.Evidence...)
		if len(got) > 0 && strings.HasPrefix(got[0].Why, "the strongest id of the request, known from ") {
			got[0].Why = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s with %s: evidence (-want +got):\n%s", byRank[i], byRank[i+1], diff)
		}
		if len(f.Aliases) != 1 {
			t.Errorf("%s with %s: aliases = %v, want one", byRank[i], byRank[i+1], f.Aliases)
		}
	}
}

func TestNamesThatLookLikeIDsAreNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Client-Request-Id", "Traceparent", "Idempotency-Key", "X-Opencode-Request", "X-Amp-Message-Id",
		"X-Claude-Code-Prompt-Id", "X-Interaction-Id", "X-Agent-Task-Id", "Vscode-Sessionid", "X-Codex-Window-Id", "X-Session-Token", "X-Session-Api-Key",
		"Mcp-Session-Id", "X-User-Id", "X-Openwebui-User-Id", "X-Hermes-Session-Key", "Authorization", "Cookie", "Last-Event-Id",
		"X-Parent-Session-Id", "X-Claude-Code-Agent-Id",
	} {
		if f := h.resolve(ask{header: header(name, uuidA)}); f.Identity != "minted" || f.Kind != mooring.KindMain || len(f.Aliases) != 1 || f.Aliases[0].Value == uuidA {
			t.Errorf("%s: identity = %s, kind = %s, aliases = %v", name, f.Identity, f.Kind, f.Aliases)
		}
	}
	for _, body := range []string{
		`"user":"` + uuidA + `",`, `"metadata":{"user_id":"` + uuidA + `"},`, `"metadata":{"user_id":"user_1_account__session_x"},`,
		`"metadata":{"user_id":"{\"device_id\":\"d\"}"},`, `"metadata":{"user_id":"{broken"},`, `"safety_identifier":"` + uuidA + `",`,
		`"client_metadata":{"x-codex-turn-metadata":"{}"},`, `"client_metadata":{"x-codex-turn-metadata":"x"},`, `"session_id":null,`, `"session_id":{"id":"a"},`,
	} {
		if f := h.resolve(ask{body: body}); f.Identity != "minted" {
			t.Errorf("%s: identity = %s", body, f.Identity)
		}
	}
}

func TestOlderShapesOfAnID(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for body, want := range map[string]string{
		`"metadata":{"user_id":"user_ab_account__session_` + uuidA + `"},`:           uuidA,
		`"client_metadata":{"x-codex-turn-metadata":"{\"session_id\":\"root-1\"}"},`: "root-1",
		`"conversation":{"id":"conv_1"},`:                                            "conv_1",
		`"session_id":7,`:                                                            "7",
	} {
		if f := h.resolve(ask{body: body}); f.ClientID != want {
			t.Errorf("%s: id = %q, want %q", body, f.ClientID, want)
		}
	}
}

const (
	uuidA = "9f1c2b7e-4a5d-4c3e-8b6a-0123456789ab"
	uuidB = "9f1c2b7e-4a5d-4c3e-8b6a-ba9876543210"
)

// The class of an id: the same session under every name, under the generic names, or under its own.
func TestShapes(t *testing.T) {
	t.Parallel()
	for id, anywhere := range map[string]bool{
		uuidA: true, strings.ToUpper(uuidA): true, "01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "ses_0a1b2c3d4ffeABCDEFGHIJKLMN": true, "T-" + uuidA: true,
		"api-" + uuidA: true, "chat_ses_0a1b2c3d4ffeABCDEFGHIJKLMN": false, "9f86d081884c7d65": true, "0a1b2c3d4e5f60718": true, "resp_68a1b2c3d4e5f6a7b8": true,
		"main": false, "default-chat": false, "20251129_12": false, "chat-1": false, "1234567890123456": false, "user-12345678901234567890": false,
		"aaaaaaaaaaaaaaaa1": false, "abcdefghijklmnopqrst": false, "agent:main:webui:dm:user-42": false, "MyConversationAboutGoLang": false,
		"TheBigPlanForTheYear2026": false, "V1StGXR8Z5jdHi6BmyT7q": true, "9f86d081884c7d6": false, "a b1c2d3e4f5a6b7c8d9": false, "Team-A/Chat-01": false, "ses_": false,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			first := h.turn(carries("x-task-id", id))
			for _, name := range []string{"x-session-id", "x-claude-code-session-id", "body:session_id", "x-litellm-session-id"} {
				if f := h.resolve(carries(name, id)); f.New == anywhere || !f.New && f.Known.ID != first.Known.ID {
					t.Errorf("under %s: new = %v, want %v", name, f.New, !anywhere)
				}
			}
			if f := h.resolve(carries("x-session-affinity", id)); !f.New {
				t.Error("a per-process name finds the session of another name")
			}
		})
	}
}

func TestShortIDsMeetUnderTheGenericNames(t *testing.T) {
	t.Parallel()
	for _, one := range generic {
		t.Run(one, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			first := h.turn(carries(one, "main"))
			for _, other := range generic {
				if f := h.resolve(carries(other, "main")); f.Known.ID != first.Known.ID {
					t.Errorf("under %s: %s, want %s", other, f.Known.ID, first.Known.ID)
				}
			}
			for _, own := range []string{"x-task-id", "goose-session-id", "x-litellm-session-id", "x-session-affinity", "body:metadata.session_id"} {
				if f := h.resolve(carries(own, "main")); !f.New {
					t.Errorf("under %s the session is found", own)
				}
			}
			if f := h.resolve(carries(one, "Main")); !f.New {
				t.Error("letters in another case find the session")
			}
		})
	}
}

func TestNamesThatMeet(t *testing.T) {
	t.Parallel()
	t.Run("names with one value become aliases of one session", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		first := h.turn(ask{header: header("X-Task-Id", "t1", "X-Session-Id", "t1", "X-Session-Affinity", "t1"), body: `"session_id":"t1",`})
		want := []mooring.Alias{{Class: "name:x-task-id", Value: "t1"}, {Class: mooring.ClassGeneric, Value: "t1"}, {Class: "name:x-session-affinity", Value: "t1"}}
		if diff := cmp.Diff(want, first.Aliases); diff != "" {
			t.Errorf("aliases (-want +got):\n%s", diff)
		}
		if ev := first.Evidence[1]; ev.Use != "agreed" || ev.Why != "the same value under another name" {
			t.Errorf("evidence = %+v", ev)
		}
		h.cold()
		for _, name := range []string{"x-task-id", "x-chat-id", "x-session-affinity"} {
			if f := h.resolve(carries(name, "t1")); f.Known.ID != first.Known.ID {
				t.Errorf("under %s: %s, want %s", name, f.Known.ID, first.Known.ID)
			}
		}
	})
	t.Run("a name that comes later with the same value is added", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		first := h.turn(carries("x-session-id", "t2"))
		second := h.turn(ask{header: header("X-Task-Id", "t2", "X-Session-Id", "t2")})
		if second.Known.ID != first.Known.ID || !cmp.Equal(second.Aliases, []mooring.Alias{{Class: "name:x-task-id", Value: "t2"}}) {
			t.Errorf("%s, aliases %v, want %s with the new name", second.Known.ID, second.Aliases, first.Known.ID)
		}
		if f := h.resolve(carries("x-task-id", "t2")); f.Known.ID != first.Known.ID {
			t.Error("the name that was added does not find the session")
		}
	})
	t.Run("two sessions that meet stay two", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		upper, lower := h.turn(carries("x-task-id", "t3")), h.turn(carries("x-session-id", "t3"))
		both := h.turn(ask{header: header("X-Task-Id", "t3", "X-Session-Id", "t3")})
		if both.Known.ID != upper.Known.ID || len(both.Aliases) != 0 {
			t.Errorf("%s, aliases %v, want %s and none", both.Known.ID, both.Aliases, upper.Known.ID)
		}
		if f := h.resolve(carries("x-session-id", "t3")); f.Known.ID != lower.Known.ID {
			t.Error("the lower name has changed its session")
		}
	})
	t.Run("an alias of a deleted session opens a new one", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		first := h.turn(carries("x-session-id", "t4"))
		h.commit(&mooring.Delete{Tenant: "acme", Session: first.Known.ID})
		h.engine.Forget("acme", first.Known.ID, nil) // the alias is still in memory
		if f := h.turn(carries("x-session-id", "t4")); !f.New || f.Known.ID == first.Known.ID {
			t.Errorf("new = %v, %s", f.New, f.Known.ID)
		}
	})
	t.Run("an alias of a deleted session is given to the one that another name finds", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		gone, stays := h.turn(carries("x-task-id", "t5")), h.turn(carries("x-session-id", "t5"))
		h.commit(&mooring.Delete{Tenant: "acme", Session: gone.Known.ID})
		h.engine.Forget("acme", gone.Known.ID, nil)
		f := h.turn(ask{header: header("X-Task-Id", "t5", "X-Session-Id", "t5")})
		if f.Known.ID != stays.Known.ID || !cmp.Equal(f.Aliases, []mooring.Alias{{Class: "name:x-task-id", Value: "t5"}}) {
			t.Errorf("%s, aliases %v, want %s with the other name", f.Known.ID, f.Aliases, stays.Known.ID)
		}
	})
}

func TestMooringSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.turn(carries("x-session-id", "m1"))
	other := h.turn(carries("x-session-id", "m2"))
	exact := string(first.Known.ID)
	f := h.resolve(ask{header: header("X-Mooring-Session", exact, "X-Session-Id", "m2")})
	if f.Known.ID != first.Known.ID || f.Identity != "header:x-mooring-session" || f.ClientID != "m1" || len(f.Aliases) != 0 || f.New {
		t.Errorf("finding = %+v, want exactly %s, with its own key", f, exact)
	}
	want := []mooring.Evidence{
		{Signal: "header:x-mooring-session", Says: "session", Value: exact, Points: exact, Use: "decided", Why: "it names exactly this session"},
		{Signal: "header:x-session-id", Says: "session", Value: "m2", Use: "ignored", Why: "X-Mooring-Session was sent"},
	}
	if diff := cmp.Diff(want, f.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	for name, q := range map[string]ask{
		"unknown":          {header: header("X-Mooring-Session", "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV")},
		"no internal id":   {header: header("X-Mooring-Session", "m1")},
		"another tenant's": {tenant: "globex", header: header("X-Mooring-Session", string(other.Known.ID))},
	} {
		if f, err := h.engine.Resolve(t.Context(), q.decode(t)); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
			t.Errorf("%s: %+v, %v, want session_not_found", name, f, err)
		}
	}
}

func TestMinted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.turn(ask{})
	if !first.New || first.Sent || first.Identity != "minted" || !strings.HasPrefix(first.ClientID, "api-") || first.Known.Key != first.ClientID {
		t.Errorf("finding = %+v", first.Finding)
	}
	if f := h.resolve(carries("x-session-id", first.ClientID)); f.New {
		t.Error("the id that was given does not find the session")
	}
	if second := h.turn(ask{}); second.Known.ID == first.Known.ID {
		t.Error("two requests without an id are one session")
	}
	f := h.resolve(ask{header: header("X-Session-Id", "default", "X-Chat-Id", "{{chat}}")})
	want := []mooring.Evidence{
		{Signal: "header:x-session-id", Says: "session", Value: "default", Use: "ignored", Why: "a placeholder is no id"},
		{Signal: "header:x-chat-id", Says: "session", Value: "{{chat}}", Use: "ignored", Why: "a placeholder is no id"},
	}
	if diff := cmp.Diff(want, f.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	const agent, nested = "a0f1e2d3c4b5a6978", "a1111111111111111"
	h := newHouse(t)
	main := h.turn(carries("x-claude-code-session-id", uuidA))
	child := h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", agent)})
	if !child.New || child.Known.ID == main.Known.ID || child.Kind != mooring.KindSubagent || child.Known.Parent != main.Known.ID ||
		child.Known.Root != main.Known.ID || child.ClientID != uuidA || child.Known.Key != uuidA+"#"+agent || child.Known.Relation != mooring.RelationSubagent {
		t.Errorf("child = %+v", child.Finding)
	}
	again := h.turn(ask{header: header(claudeHeader, uuidA, "x_claude_code_agent_id", agent)})
	if again.New || again.Known.ID != child.Known.ID || again.Kind != mooring.KindSubagent || again.Known.Parent != main.Known.ID {
		t.Errorf("again = %+v, want %s", again.Finding, child.Known.ID)
	}
	grandchild := h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", nested, "X-Claude-Code-Parent-Agent-Id", agent)})
	if grandchild.Known.Parent != child.Known.ID || grandchild.Known.Root != main.Known.ID {
		t.Errorf("grandchild's parent = %s, root = %s, want %s and %s", grandchild.Known.Parent, grandchild.Known.Root, child.Known.ID, main.Known.ID)
	}
	for name, parent := range map[string]string{"an unknown parent agent": "a2222222222222222", "itself as the parent agent": "a3333333333333333"} {
		f := h.resolve(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a3333333333333333", "X-Claude-Code-Parent-Agent-Id", parent)})
		if f.Known.Parent != main.Known.ID || f.Kind != mooring.KindSubagent {
			t.Errorf("%s: parent = %s, want the session %s", name, f.Known.Parent, main.Known.ID)
		}
	}
	if f := h.resolve(carries("x-claude-code-session-id", uuidA)); f.Known.ID != main.Known.ID || f.Kind != mooring.KindMain {
		t.Errorf("the session itself is %s of kind %s now", f.Known.ID, f.Kind)
	}
	if f := h.resolve(ask{header: header(claudeHeader, uuidB, "X-Claude-Code-Agent-Id", agent)}); f.Known.ID == child.Known.ID || f.Known.Parent != "" {
		t.Error("an agent's name is taken for the one of another session")
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Parent-Session-Id", "X-Opencode-Parent-Session-Id", "X-Codex-Parent-Thread-Id", "x_kilocode_parent_taskid"} {
		for _, of := range []struct {
			rule, own, parentName, parent string
		}{
			{"an unguessable id, under another name", "x-session-id", "x-task-id", uuidA},
			{"a short id under the child's own name", "x-task-id", "x-task-id", "p1"},
			{"a short id under a generic name", "x-session-id", "x-chat-id", "p2"},
			{"an unguessable id, for a child of a per-process name", "x-session-affinity", "x-session-id", uuidA},
		} {
			t.Run(name+" "+of.rule, func(t *testing.T) {
				t.Parallel()
				h := newHouse(t)
				parent := h.turn(carries(of.parentName, of.parent))
				q := carries(of.own, "child-1")
				q.header[name] = []string{of.parent}
				child := h.turn(q)
				if child.Kind != mooring.KindSubagent || child.Known.Parent != parent.Known.ID || child.Known.Root != parent.Known.ID {
					t.Errorf("kind = %s, parent = %s, want a child of %s", child.Kind, child.Known.Parent, parent.Known.ID)
				}
				h.cold()
				if again := h.turn(q); again.Known.ID != child.Known.ID || again.Kind != mooring.KindSubagent || again.Known.Parent != parent.Known.ID {
					t.Errorf("again: %s of kind %s below %s", again.Known.ID, again.Kind, again.Known.Parent)
				}
			})
		}
	}
	t.Run("a session that names itself has no parent", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		self := ask{header: header("Thread-Id", uuidA, "Session-Id", uuidA, "X-Codex-Parent-Thread-Id", uuidA)}
		for range 2 {
			if f := h.turn(self); f.Kind != mooring.KindMain || f.Known.Parent != "" || f.Known.Relation != mooring.RelationMain || f.Known.Root != f.Known.ID {
				t.Errorf("kind = %s, relation = %s, parent = %q", f.Kind, f.Known.Relation, f.Known.Parent)
			}
		}
	})
	t.Run("of two parents the one that is not the session itself", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		parent := h.turn(carries("x-session-id", uuidB))
		f := h.turn(ask{header: header("X-Session-Id", uuidA, "X-Opencode-Parent-Session-Id", uuidA, "X-Parent-Session-Id", uuidB)})
		if f.Known.Parent != parent.Known.ID {
			t.Errorf("parent = %q, want %s", f.Known.Parent, parent.Known.ID)
		}
	})
	t.Run("an unknown parent leaves a sub-agent of its own", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		f := h.turn(ask{header: header("X-Session-Id", uuidA, "X-Parent-Session-Id", uuidB)})
		if f.Kind != mooring.KindSubagent || f.Known.Parent != "" || f.Known.Root != f.Known.ID {
			t.Errorf("kind = %s, parent = %q, root = %s", f.Kind, f.Known.Parent, f.Known.Root)
		}
	})
	t.Run("another tenant's parent is unknown", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.turn(ask{tenant: "globex", header: header("X-Session-Id", uuidB)})
		if f := h.turn(ask{header: header("X-Session-Id", uuidA, "X-Parent-Session-Id", uuidB)}); f.Known.Parent != "" {
			t.Errorf("parent = %q", f.Known.Parent)
		}
	})
}

func TestClientProgram(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for agent, want := range map[string]string{
		"claude-cli/2.1.332 (external, cli)": "claude-code", "codex_cli_rs/0.171.0 (Linux)": "codex", "QwenCode/0.24.4": "qwen-code", "opencode/1.18.34": "opencode",
		"": "", "Mozilla": "mozilla", "<script>/1": "", strings.Repeat("x", 41): "", "my app/1": "my",
	} {
		f := h.resolve(ask{header: header("User-Agent", agent), talk: []string{"s: be brief", "u: plan a trip", "a: where to", "u: to Rome"}})
		if f.Known.Client != want {
			t.Errorf("%s: client = %q, want %q", agent, f.Known.Client, want)
		}
	}
}

func TestHeaderNames(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for _, name := range newHouse(t, "X_Shop_Chat").engine.HeaderNames() {
		got[strings.ToLower(name)]++
	}
	for _, name := range append([]string{"x-mooring-session", "x-claude-code-agent-id", "x-parent-session-id"}, byRank...) {
		if got[name] != 1 && !strings.HasPrefix(name, "body:") {
			t.Errorf("%s is named %d times, want once", name, got[name])
		}
	}
}

func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.Close()
	for _, q := range []ask{carries("x-session-id", "a"), {header: header("X-Mooring-Session", "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV")}} {
		if f, err := h.engine.Resolve(t.Context(), q.decode(t)); err == nil || mooring.KindOf(err) == mooring.KindNotFound {
			t.Errorf("Resolve = %+v, %v, want the store's error and no guess", f, err)
		}
	}
}

var _ identify.Store = (*counted)(nil)

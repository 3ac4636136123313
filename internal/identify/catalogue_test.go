package identify_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

func TestEveryFieldOfTheCatalogueIsDelivered(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for _, row := range identify.Rows() {
		if row.Place == "body" && row.Name != "input" {
			paths[row.Name] = true
		}
	}
	if len(paths) < 20 {
		t.Fatalf("only %d fields", len(paths))
	}
	for path := range paths {
		outer, inner, ok := strings.Cut(path, ".")
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],%q:"v"}`, outer)
		if ok {
			body = fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],%q:{%q:"v"}}`, outer, inner)
		}
		w, err := wire.Decode(mooring.Chat, []byte(body), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(w.Fields, func(f wire.Field) bool { return f.Path == path && f.Value == "v" }) {
			t.Errorf("%s is in the catalogue and not delivered", path)
		}
	}
	for _, path := range wire.FieldPaths() {
		if !paths[path] {
			t.Errorf("%s is delivered and not in the catalogue", path)
		}
	}
}

func TestRowsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range identify.Rows() {
		key := fmt.Sprint(row.Name, row.Place, row.Says, row.Inside, row.Who)
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if row.Who == "" || row.Seen == "" || row.Says == "never" && row.Why == "" {
			t.Errorf("%+v: who sends it, where that is known from or why it is never used is missing", row)
		}
		if row.Place == "header" && (row.Name != strings.ToLower(row.Name) || strings.Contains(row.Name, "_") || len(row.Name) > 64) {
			t.Errorf("%s is not the canonical spelling of a header", row.Name)
		}
	}
}

// neverNames are headers of the rows that are never used, with what a "*" stands for filled in.
func neverNames() []string {
	var out []string
	for _, row := range identify.Rows() {
		if row.Says == "never" && row.Place == "header" {
			out = append(out, strings.ReplaceAll(row.Name, "*", "session-id"))
		}
	}
	return out
}

func TestNamesThatAreNeverUsedAreTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	names := neverNames()
	if len(names) < 60 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range names {
		const secret = "9f86d081884c7d659f86d081884c7d65"
		f := h.resolve(ask{header: header(http.CanonicalHeaderKey(name), secret)})
		if f.Identity != "minted" || f.Kind != mooring.KindMain {
			t.Errorf("%s: identity = %s, kind = %s", name, f.Identity, f.Kind)
		}
		told := slices.IndexFunc(f.Evidence, func(ev mooring.Evidence) bool {
			return ev.Says == "never" && ev.Use == "never" && ev.Why != "" && ev.Value == ""
		})
		if told < 0 {
			t.Errorf("%s: evidence = %+v, want the reason why it is never used", name, f.Evidence)
		}
		if strings.Contains(fmt.Sprintf("%+v %+v", f.Evidence, f.Known.Session), secret) {
			t.Errorf("%s: its value is kept", name)
		}
		if !h.engine.NeverLearn(name) || !h.engine.NeverLearn(strings.ToUpper(name)) || !h.engine.NeverLearn(strings.ReplaceAll(name, "-", "_")) {
			t.Errorf("%s may be learned", name)
		}
	}
}

func TestNamesThatMayBeLearned(t *testing.T) {
	t.Parallel()
	e := newHouse(t).engine
	for name, never := range map[string]bool{
		"X-Conv": false, "X-Shop-Dialog": false, "X-Bot-Thread": false, "Conversation": false, "X-Ticket-Number": false, "X-Chat-Ref": false, "X-Client-Chat": false,
		"X-Session-Id": true, "X-Acme-Session-Id": true, "X-Acme-Parent-Session-Id": true, "Content-Type": true,
		"X-Access-Id": true, "X-Acme-Token": true, "X-Acme-Secret": true, "X-Acme-Apikey": true, "X-Signature": true, "X-Jwt": true, "X-Acme-Key": true, "X-AuthToken": true,
		"X-Acme-User-Id": true, "X-User": true, "X-Acme-Device-Id": true, "X-Org": true, "X-Acme-Tenant": true, "X-Acme-Request-Id": true, "X-Acme-Trace": true,
		"X-Message-Id": true, "X-Passphrase": true, "X-Subscription-Id": true, "X-Machine": true, "X_Acme_Userid": true, strings.Repeat("x", 65): true, "": true,
	} {
		if got := e.NeverLearn(name); got != never {
			t.Errorf("NeverLearn(%q) = %v, want %v", name, got, never)
		}
	}
}

func TestVendorNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, name, value, identity string
	}{
		{"a name like a vendor's", "X-Acme-Session-Id", "acme-0001-zz", "header:x-acme-session-id"},
		{"underscores", "X_Acme_Session_Id", "acme-0001-zz", "header:x-acme-session-id"},
		{"too short a value", "X-Acme-Session-Id", "a1", "minted"},
		{"a value with spaces", "X-Acme-Session-Id", "what a session", "minted"},
		{"a placeholder", "X-Acme-Session-Id", "undefined", "minted"},
		{"too long a value", "X-Acme-Session-Id", strings.Repeat("a", 129), "minted"},
		{"a parent's name", "X-Acme-Parent-Session-Id", "acme-0001-zz", "minted"},
		{"a name of a credential", "X-Auth-Session-Id", "acme-0001-zz", "minted"},
		{"a name of a user", "X-Acme-User-Session-Id", "acme-0001-zz", "minted"},
		{"no x", "Acme-Session-Id", "acme-0001-zz", "minted"},
		{"more behind it", "X-Acme-Session-Id-2", "acme-0001-zz", "minted"},
		{"the tool protocol's", "Mcp-Session-Id", "acme-0001-zz", "minted"},
		{"Bedrock's", "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id", "acme-0001-zz", "minted"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			first := h.turn(ask{header: header(tt.name, tt.value)})
			if first.Identity != tt.identity {
				t.Errorf("identity = %s, want %s", first.Identity, tt.identity)
			}
			if again := h.turn(ask{header: header(tt.name, tt.value)}); again.New == (tt.identity != "minted") {
				t.Errorf("again: new = %v", again.New)
			}
		})
	}
}

func TestWeakIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule     string
		ask      ask
		identity string
	}{
		{"a cache key that is a UUID", ask{body: `"prompt_cache_key":"` + uuidA + `",`}, "body:prompt_cache_key"},
		{"a cache key of hex digits", ask{body: `"prompt_cache_key":"0a1b2c3d4e5f60718293a4b5c6d7e8f9",`}, "body:prompt_cache_key"},
		{"C023 a cache key that is an application's", ask{body: `"prompt_cache_key":"support-bot-v3",`}, "minted"},
		{"a trace of LiteLLM", ask{header: header("X-Litellm-Trace-Id", "trace-7")}, "header:x-litellm-trace-id"},
		{"a trace of LiteLLM in the body", ask{body: `"litellm_trace_id":"trace-7",`}, "body:litellm_trace_id"},
		{"a trace of Portkey", ask{header: header("X-Portkey-Trace-Id", "conv-9")}, "header:x-portkey-trace-id"},
		{"baggage", ask{header: header("Baggage", "user.id=7, session.id=chat%2D7;ttl=3,a=b")}, "header:baggage"},
		{"baggage in two lines", ask{header: header("Baggage", "session.id=chat-7", "Baggage", "a=b")}, "header:baggage"},
		{"baggage without a session", ask{header: header("Baggage", "user.id=7")}, "minted"},
		{"C020 a user", ask{body: `"user":"shop-extension",`}, "minted"},
		{"a user like Goose's sessions", ask{body: `"user":"20260809_29",`}, "body:user"},
		{"a user of OpenClaw", ask{header: header("X-Openclaw-Agent-Id", "main"), body: `"user":"panel-5",`}, "body:user"},
		{"a hosted run of Claude Code", ask{header: header("X-Claude-Remote-Session-Id", "cloud-77-a")}, "header:x-claude-remote-session-id"},
		{"a request's id above nothing", ask{header: header("X-Client-Request-Id", uuidA)}, "minted"},
		{"C004 a request's id beside a session's", ask{header: header("X-Client-Request-Id", uuidA, "X-Request-Id", uuidB, "X-Session-Id", "s1")}, "header:x-session-id"},
		{"C008 a run's id beside a session's", ask{header: header("X-Run-Id", uuidA, "X-Session-Id", "s1"), body: `"metadata":{"run_id":"r1"},`}, "header:x-session-id"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if f := h.resolve(tt.ask); f.Identity != tt.identity {
				t.Errorf("identity = %s, want %s; evidence %+v", f.Identity, tt.identity, f.Evidence)
			}
		})
	}
}

func TestC005TwoClientsAndOneThatSendsBoth(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one, other := h.turn(carries("session-id", "q1")), h.turn(carries("x-claude-code-session-id", "q2"))
	for range 2 {
		both := h.turn(ask{header: header("Session-Id", "q1", claudeHeader, "q2")})
		if both.Known.ID != other.Known.ID || both.Known.ID == one.Known.ID || both.Identity != "header:x-claude-code-session-id" {
			t.Errorf("both: %s by %s, want %s", both.Known.ID, both.Identity, other.Known.ID)
		}
		ignored := slices.ContainsFunc(both.Evidence, func(ev mooring.Evidence) bool {
			return ev.Signal == "header:session-id" && ev.Use == "ignored" && ev.Points == string(one.Known.ID)
		})
		if !ignored {
			t.Errorf("evidence = %+v, want what the lower id points to", both.Evidence)
		}
	}
}

func TestOneIDUnderItsTwoNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{
		{"x-litellm-session-id", "body:litellm_session_id"}, {"x-litellm-session-id", "body:metadata.session_id"}, {"agent-session-id", "goose-session-id"},
	} {
		h := newHouse(t)
		first := h.turn(carries(names[0], "run-7"))
		if f := h.resolve(carries(names[1], "run-7")); f.Known.ID != first.Known.ID {
			t.Errorf("%s: %s, want the session of %s", names[1], f.Known.ID, names[0])
		}
	}
}

func TestNamesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "X-Run-Id", "Authorization")
	if f := h.resolve(ask{header: header("X_Run_Id", "run-7")}); f.Identity != "header:x-run-id" {
		t.Errorf("identity = %s, want the name of the configuration", f.Identity)
	}
	if f := h.resolve(ask{header: header("Authorization", "Bearer run-7")}); f.Identity != "minted" {
		t.Errorf("identity = %s: a credential names a session", f.Identity)
	}
}

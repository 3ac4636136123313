package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mooring"
)

// longestHeader bounds a name that carries session ids, as identification does.
const longestHeader = 64

// checkIDHeaders refuses names that cannot carry a session id: what stands under them would join strangers, be shown in the
// evidence or break the request.
func checkIDHeaders(key string, names []string) error {
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", key, i)
		if !headerName.MatchString(name) {
			return wrong(at, "%q is no header name", name)
		}
		if len(name) > longestHeader {
			return wrong(at, "%q has more than %d letters", name, longestHeader)
		}
		if what := otherMeaning(name); what != "" {
			return wrong(at, "%s is a name for %s and cannot carry a session id", name, what)
		}
	}
	return nil
}

// otherMeaning says what a header name stands for where that is known and no session; "" for any other name. Case, "-" and
// "_" do not tell names apart.
func otherMeaning(name string) string {
	low := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch {
	case ofCredentials(low):
		return "a credential"
	case ofConnection(low):
		return "the connection or the body"
	case strings.HasPrefix(low, "x-mooring-"):
		return "Mooring's own use"
	}
	for _, group := range meanings() {
		if matches(low, group.names) {
			return group.what
		}
	}
	return ""
}

// ofCredentials goes by the words in a name, since vendors make up new ones.
func ofCredentials(low string) bool {
	for word := range strings.SplitSeq(low, "-") {
		switch word {
		case "auth", "authorization", "authentication", "token", "secret", "password", "credential", "credentials", "cookie", "cookie2", "jwt", "apikey",
			"signature", "attestation":
			return true
		}
	}
	return strings.Contains(low, "api-key") || low == "anthropic-dispatch-id" || low == "x-codex-turn-state"
}

// ofConnection names what belongs to one connection or describes the body's bytes; setting it would break requests.
func ofConnection(low string) bool {
	return matches(low, []string{
		"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect", "host", "proxy-*", "content-*", "accept-encoding",
	})
}

type meaning struct {
	what  string
	names []string // a * at the end stands for any rest
}

// meanings are the names that look as if they could name a session and do not, or that every request carries anyway.
func meanings() []meaning {
	return []meaning{
		{"a single request or turn", []string{
			"x-request-id", "request-id", "x-correlation-id", "x-client-request-id", "x-amzn-*", "x-b3-*", "traceparent", "tracestate", "baggage", "x-stainless-*",
			"idempotency-key", "x-idempotency-key", "x-opencode-request", "x-amp-message-id", "x-claude-code-prompt-id", "x-openclaw-turn-*", "x-interaction-id",
			"x-agent-task-id", "x-codex-turn-metadata", "x-codex-window-id", "x-amz-date", "date", "if-*", "range",
		}},
		{"a machine, a window or an installation", []string{
			"vscode-sessionid", "vscode-machineid", "x-codex-installation-id", "device-id", "x-kilocode-machineid", "x-gemini-api-privileged-user-id",
		}},
		{"a person", []string{
			"user", "from", "safety-identifier", "x-user-id", "x-openwebui-user-*", "account-uuid", "chatgpt-account-id", "x-hermes-session-key",
		}},
		{"the parent of a session or an agent in it", []string{
			"x-claude-code-agent-id", "x-claude-code-parent-agent-id", "x-opencode-parent-session-id", "x-parent-session-id", "x-codex-parent-thread-id",
			"x-kilocode-parent-taskid",
		}},
		{"the way through the network", []string{"cf-*", "forwarded", "x-forwarded-*", "via", "x-real-ip"}},
		{"a browser or a client program", []string{"accept", "accept-*", "access-control-*", "cache-control", "origin", "pragma", "referer", "sec-*", "user-agent"}},
		{"another protocol", []string{"last-event-id", "mcp-*", "container"}},
	}
}

func matches(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		family, all := strings.CutSuffix(n, "*")
		return name == n || all && strings.HasPrefix(name, family)
	})
}

// checkHeaders holds the extra headers of an upstream and its credentials against what can stand in a request.
func checkHeaders(at string, u Upstream) error {
	spelled := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		low := strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			return wrong(at+".headers", "%q is no header name", name)
		case ofConnection(low):
			return wrong(at+".headers."+name, "belongs to the connection or the body and cannot be set")
		case spelled[low]:
			return wrong(at+".headers."+name, "is there twice, in two spellings")
		}
		spelled[low] = true
		if err := checkSendable(at+".headers."+name, u.Headers[name]); err != nil {
			return err
		}
	}
	for i, account := range u.Keys {
		if err := checkSendable(fmt.Sprintf("%s.keys[%d].key", at, i), account.Key); err != nil {
			return err
		}
	}
	if err := checkSendable(at+".key", u.Key); err != nil {
		return err
	}
	return checkIDHeaders(at+".session_headers", u.SessionHeaders)
}

// checkSendable refuses what no header can carry, without showing it.
func checkSendable(at string, value mooring.Secret) error {
	if strings.ContainsFunc(value.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return wrong(at, "holds a line end or another control character, which no header can carry; a variable filled from a file often ends in one")
	}
	return nil
}

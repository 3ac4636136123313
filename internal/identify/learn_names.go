package identify

import (
	"maps"
	"strings"
	"sync/atomic"
)

// passedOver are headers of HTTP, of proxies and of the protocols' own programs: none of them names a conversation.
func passedOver() []string {
	return []string{
		"accept", "accept-charset", "accept-encoding", "accept-language", "age", "alt-used", "authorization", "cache-control", "connection", "content-disposition",
		"content-encoding", "content-language", "content-length", "content-location", "content-md5", "content-type", "cookie", "date", "dnt", "early-data",
		"expect", "forwarded", "from", "host", "http2-settings", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
		"last-event-id", "max-forwards", "mcp-protocol-version", "mcp-session-id", "origin", "pragma", "prefer", "priority", "proxy-authorization",
		"proxy-connection", "range", "referer", "save-data", "te", "trailer", "transfer-encoding", "true-client-ip", "upgrade", "upgrade-insecure-requests",
		"user-agent", "via", "warning", "x-app", "x-cloud-trace-context", "x-original-host", "x-original-uri", "x-original-url", "x-real-ip", "x-requested-with",
		"x-rewrite-url", "x-scheme", "x-title", "http-referer", "originator",
	}
}

// passedPrefixes are how families of such headers begin.
func passedPrefixes() []string {
	return []string{
		"accept-", "access-control-", "anthropic-", "cdn-", "cf-", "content-", "fastly-", "fly-", "if-", "openai-", "proxy-", "sec-", "uber-trace-", "x-amz-",
		"x-amzn-", "x-appengine-", "x-arr-", "x-azure-", "x-b3-", "x-cf-", "x-datadog-", "x-envoy-", "x-fd-", "x-forwarded", "x-goog-", "x-mooring-", "x-ms-",
		"x-nginx-", "x-openai-", "x-stainless-", "x-vercel-",
	}
}

// tellingWords are parts of a name, between hyphens, after which it carries something else than a conversation: a credential, a
// person or a group of them, a machine or a program on it, one request or message, a place in the work, a setting.
func tellingWords() string {
	return `auth authn authz bearer cookie cookies credential credentials csrf cert certificate hmac jwt key keys nonce otp pin saml secret secrets sig
		signature sso token tokens xsrf
		account accounts acct billing company customer email employee group groups mail member org organisation organization orgs owner
		people person profile role roles sub subject subscriber subscription team tenant uid user username users visitor
		device devices host hostname hw installation install instance ip ips machine mac node origin os platform pod process pid replica serial server
		station terminal window worker workstation
		attempt command correlation date deadline event eventid hop idempotency invocation message messages msg operation prompt promptid query req
		request requests retry seq sequence span step sent time timeout timestamp trace traceparent tracestate traces transaction turn turnid tx ts
		branch checkout commit cwd dir directory env environment file folder path project repo repository root uri url workdir workspace
		build channel country currency debug encoding feature features flag flags format kind lang language level limit locale mode model
		name plan priority proto protocol region release runtime schema sdk source stage tag tags tier timezone tz type version zone`
}

// tellingParts are what a name may not hold anywhere, for names that are written without hyphens.
func tellingParts() []string {
	return []string{
		"token", "secret", "passw", "passphrase", "cookie", "credential", "apikey", "accesskey", "privatekey", "sessionkey", "authkey", "oauth", "xauth", "authoriz",
		"authent", "bearer", "jwt", "signature", "userid", "username", "useremail", "deviceid", "machineid", "installationid", "requestid", "traceid", "spanid",
		"correlationid", "messageid", "clientid", "accountid", "orgid", "tenantid", "teamid", "projectid", "workspaceid", "hostname",
	}
}

// callerWords are parts of a name that belong to whoever calls where an id or the like follows, or nothing.
func callerWords() string {
	return `access api client consumer identity login private refresh security`
}

// programWords are those that belong to what calls where an id or the like follows.
func programWords() string { return `app application public service` }

// word is what a part of a name says about the whole.
type word int

const (
	telling word = iota + 1
	ofCaller
	ofProgram
)

// names tells headers that may name a session from those that never do.
type names struct {
	known    func(name []byte) bool // what the catalogue has
	plain    map[string]bool
	words    map[string]word
	parts    []string
	prefixes []string

	seen atomic.Pointer[map[string]string] // what became of names as they came; never changed, only replaced
}

// maxSeen is how many names as they came are remembered; beyond that it begins anew.
const maxSeen = 512

func newNames(known func(name []byte) bool) *names {
	n := &names{known: known, plain: map[string]bool{}, words: map[string]word{}, parts: tellingParts(), prefixes: passedPrefixes()}
	for _, name := range passedOver() {
		n.plain[name] = true
	}
	for what, list := range map[word]string{telling: tellingWords(), ofCaller: callerWords(), ofProgram: programWords()} {
		for w := range strings.FieldsSeq(list) {
			n.words[w] = what
		}
	}
	n.seen.Store(&map[string]string{})
	return n
}

// learnable gives the canonical form of a header's name; empty for one that never names a session.
func (n *names) learnable(key string) string {
	buf, size := canonical(key)
	name := buf[:size]
	if size == 0 || n.known(name) || n.never(name) {
		return ""
	}
	return string(name)
}

// remember keeps what became of names, so that the same ones cost a look into a map the next time.
func (n *names) remember(keys []string) {
	old := *n.seen.Load()
	if len(old)+len(keys) > maxSeen {
		old = nil
	}
	next := make(map[string]string, len(old)+len(keys))
	maps.Copy(next, old)
	for _, key := range keys {
		next[strings.Clone(key)] = n.learnable(key)
	}
	n.seen.Store(&next)
}

// never says that a header of this name is not to be learned, whatever it is seen to hold: nothing of it is kept. The name is in
// lower case with hyphens.
func (n *names) never(name []byte) bool {
	return n.plain[string(name)] || n.family(name) || n.sensitive(name)
}

// sensitive recognises by its words a name of a credential, a person, a device, an organisation, a single request or a setting. The
// name is in lower case with hyphens.
func (n *names) sensitive(name []byte) bool {
	before := word(0)
	for rest, more := name, true; more; {
		var part []byte
		part, rest, more = cutHyphen(rest)
		what := n.words[string(part)]
		switch {
		case what == telling, begins(part, "auth"), begins(part, "pass"), ends(part, "key"):
			return true
		case (before == ofCaller || before == ofProgram) && says(part), what == ofCaller && !more:
			return true
		}
		before = what
	}
	return n.holds(name)
}

func (n *names) family(name []byte) bool {
	for _, p := range n.prefixes {
		if begins(name, p) {
			return true
		}
	}
	return false
}

// holds looks for telling words in a name without its hyphens.
func (n *names) holds(name []byte) bool {
	var buf [longestName]byte
	bare := buf[:0]
	for _, c := range name {
		if c != '-' && c != '.' {
			bare = append(bare, c)
		}
	}
	for _, p := range n.parts {
		if index(bare, p) {
			return true
		}
	}
	return false
}

// says is for what follows a word for whoever calls.
func says(part []byte) bool {
	switch string(part) {
	case "id", "ids", "uuid", "guid", "key", "secret", "token", "name", "info", "data":
		return true
	}
	return false
}

func cutHyphen(b []byte) (part, rest []byte, more bool) {
	for i, c := range b {
		if c == '-' || c == '.' {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

func begins(b []byte, with string) bool { return len(b) >= len(with) && string(b[:len(with)]) == with }

func ends(b []byte, with string) bool {
	return len(b) >= len(with) && string(b[len(b)-len(with):]) == with
}

func index(b []byte, what string) bool {
	for i := 0; i+len(what) <= len(b); i++ {
		if string(b[i:i+len(what)]) == what {
			return true
		}
	}
	return false
}

// shortestLearned is from how many bytes on a value may be an id that a header was learned to carry: shorter ones are counts and
// words.
const shortestLearned = 8

// mayBeID says whether a value has the shape of an id. Lists, paths, addresses, structured texts and what looks like a credential
// are none.
func mayBeID(v string) bool {
	if len(v) < shortestLearned || len(v) > MaxID || placeholder(v) || v[0] == '/' || v[0] == '~' || v[0] == '.' || credential(v) {
		return false
	}
	for i := range len(v) {
		switch c := v[i]; {
		case c <= ' ' || c >= 0x7f:
			return false
		case strings.IndexByte(`,;"'<>(){}[]\@?&%`, c) >= 0:
			return false
		}
	}
	return !strings.Contains(v, "://")
}

// credential recognises the shapes of known secrets: signed tokens and keys with their vendor's prefix.
func credential(v string) bool {
	for _, p := range []string{"eyJ", "sk-", "sk_", "pk_", "rk_", "mk-", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "Bearer"} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return false
}

package identify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mooring"
)

// describe labels the request with its project and its client, by the evidence that says most. Neither is evidence of identity.
func (e *Engine) describe(q Request, r *reading, all []sighting, in *texts) {
	if path, how := workingFolder(q, r.told); path != "" {
		r.project = path
		r.ignored = append(r.ignored, mooring.Evidence{Signal: how, Says: string(saysProject), Use: "decided", Why: "it says what is worked on"})
	}
	for i := range all {
		s := &all[i]
		switch s.says {
		case saysProject:
			e.belongs(q, r, s, in)
		case saysClient:
			r.recognised(s)
		case saysSession, saysAgent, saysParent, saysKind, saysNever:
		}
	}
	if r.project == "" {
		r.project = projectOf(billing(systemOf(q)), "cc_project")
	}
}

func (e *Engine) belongs(q Request, r *reading, s *sighting, in *texts) {
	v := s.content(in)
	if s.inside == "workspaces" {
		v = e.workspace(q.Tenant, v)
	}
	switch {
	case placeholder(v) || len(v) > MaxID || strings.ContainsFunc(v, isControl):
	case r.project == "":
		r.project = v
		r.note(s, v, "decided", "it says what is worked on")
	default:
		r.note(s, v, "ignored", "something stronger says what is worked on")
	}
}

// recognised notes the name that a program gives itself; the rest of such a header stays where it is.
func (r *reading) recognised(s *sighting) {
	if name := productOf(s.value); name != "" && name == r.client {
		r.note(s, name, "decided", "it names the program")
	}
}

// workspace names what Codex works on: by a keyed digest of the git remote, which says where somebody's code lies, else by its folder.
func (e *Engine) workspace(t mooring.Tenant, v string) string {
	var folders map[string]struct {
		Remotes map[string]string `json:"associated_remote_urls"`
	}
	if json.Unmarshal([]byte(v), &folders) != nil {
		return ""
	}
	paths := make([]string, 0, len(folders))
	for path := range folders {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		for _, name := range []string{"origin", "upstream"} {
			if remote := repository(folders[path].Remotes[name]); remote != "" {
				h := hmac.New(sha256.New, e.Secret)
				_, _ = h.Write([]byte("mooring project\x00" + string(t) + "\x00" + remote))
				return "git-" + hex.EncodeToString(h.Sum(nil)[:8])
			}
		}
	}
	for _, path := range paths {
		if folder := folderOf(path); folder != "" {
			return folder
		}
	}
	return ""
}

// repository gives host/owner/name of a git remote in any of its spellings.
func repository(remote string) string {
	_, rest, ok := strings.Cut(remote, "://")
	if !ok {
		rest = strings.Replace(remote, ":", "/", 1)
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	host, path, ok := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git"), "/")
	if !ok || host == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + path
}

// folderLines are what programs write before the folder that they work in.
func folderLines() []string {
	return []string{"Primary working directory:", "Working directory:", "working directory:", "Current working directory:", `\"cwd\":\"`, `\"cwd\": \"`, "<cwd>", `\u003ccwd\u003e`}
}

// workingFolder finds the folder in the instructions of a request, and in the message that Codex puts before the conversation.
func workingFolder(q Request, told []instruction) (path, how string) {
	for i := range told {
		if told[i].folder != "" {
			return told[i].folder, "body:system"
		}
	}
	for i := range q.Wire.Messages[:min(len(q.Wire.Messages), 3)] {
		raw := q.Wire.Messages[i].Raw
		if q.Wire.Messages[i].Role == "user" && bytes.Contains(raw, []byte("environment_context")) {
			return folderIn(raw), "body:environment_context"
		}
	}
	return "", ""
}

// folderIn looks through the raw JSON of a text.
func folderIn(raw []byte) string {
	raw = raw[:min(len(raw), longestTask)]
	for _, line := range folderLines() {
		at := bytes.Index(raw, []byte(line))
		if at < 0 {
			continue
		}
		rest := raw[at+len(line):]
		text := unescaped(rest[:min(len(rest), 2*MaxID)])
		if end := strings.IndexAny(text, "\n\r\"<"); end >= 0 {
			text = text[:end]
		}
		if folder := folderOf(text); folder != "" {
			return folder
		}
	}
	return ""
}

// unescaped reads a JSON text up to its end, or up to where it is cut.
func unescaped(raw []byte) string {
	end := 0
	for end < len(raw) && raw[end] != '"' {
		step := 1
		if raw[end] == '\\' {
			step = 2
			if end+1 < len(raw) && raw[end+1] == 'u' {
				step = len(`\u003c`)
			}
		}
		if end+step > len(raw) {
			break
		}
		end += step
	}
	var out string
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw[:end], []byte{'"'}), &out) // what is no text says nothing
	return out
}

// genericFolder is a folder that says nothing of what is worked on: a home, a root, a place for temporary files.
var genericFolder = regexp.MustCompile(`(?i)^(?:/|~|/root|/home|/users|/tmp|/var/tmp|/home/[^/]+|/users/[^/]+|[a-z]:\\?|[a-z]:\\users(?:\\[^\\]+)?)$`)

// folderOf gives an absolute path that says what is worked on; empty for any other.
func folderOf(path string) string {
	path = strings.Trim(strings.TrimSpace(path), "`'")
	absolute := strings.HasPrefix(path, "/") || len(path) > 2 && path[1] == ':' && path[2] == '\\'
	if trimmed := strings.TrimRight(path, `/\`); trimmed != "" {
		path = trimmed
	}
	if !absolute || len(path) > MaxID || genericFolder.MatchString(path) || strings.ContainsFunc(path, isControl) {
		return ""
	}
	return path
}

// projectOf takes a member out of the billing line.
func projectOf(line, name string) string {
	for entry := range strings.SplitSeq(line, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if ok && key == name && !placeholder(value) && len(value) <= MaxID {
			return value
		}
	}
	return ""
}

// clientOf names the client program: by its User-Agent where that is the program's own, else by what it calls itself, else by an id that only it
// sends, else by the library that speaks for it.
func clientOf(header http.Header, r *reading) string {
	product := productOf(header.Get("User-Agent"))
	if isProgram(product) {
		return product
	}
	if name := productOf(header.Get("Originator")); isProgram(name) {
		return name
	}
	for _, id := range r.ids {
		if id.client != "" {
			return id.client
		}
	}
	return product
}

// productOf gives the first product of a User-Agent, as the program is called here; empty for what is no name.
func productOf(userAgent string) string {
	product, _, _ := strings.Cut(userAgent, "/")
	product, _, _ = strings.Cut(product, " ")
	name := strings.ToLower(product)
	if called := calledHere(name); called != "" {
		return called
	}
	if len(name) > 40 || strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}) {
		return ""
	}
	return name
}

// calledHere gives programs that call themselves otherwise one name.
func calledHere(product string) string {
	switch product {
	case "claude-cli":
		return "claude-code"
	case "codex_cli_rs", "codex_exec", "codex-tui", "codex_vscode":
		return "codex"
	case "qwencode":
		return "qwen-code"
	case "charm-crush":
		return "crush"
	case "roocode":
		return "roo-code"
	case "geminicli":
		return "gemini-cli"
	case "githubcopilotchat":
		return "copilot"
	}
	return ""
}

// isProgram says whether a name is that of a client program, and not of a library that speaks for one.
func isProgram(name string) bool {
	switch name {
	case "claude-code", "codex", "opencode", "kilo-code", "crush", "qwen-code", "gemini-cli", "roo-code", "cline", "goose", "zed", "copilot", "pi", "amp", "n8n":
		return true
	}
	return false
}

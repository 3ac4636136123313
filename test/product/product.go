// Package product runs the built binary for black-box tests: it builds it, starts it with a configuration in a folder of
// its own, and stops it with the test.
package product

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Binary is a built mooring.
type Binary string

// Build builds the binary of this working tree into the folder.
func Build(dir string) (Binary, error) {
	root, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	file := filepath.Join(dir, "mooring")
	// The flags of `make build`, so that what it compiled is used.
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/mooring") //nolint:gosec // names of this module
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build mooring: %w\n%s", err, out)
	}
	return Binary(file), nil
}

// Run builds the binary for the tests of a package, runs them, and gives the exit code for TestMain.
func Run(m *testing.M, built *Binary) int {
	dir, err := os.MkdirTemp("", "mooring-test-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		*built, err = Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Server is a running mooring.
type Server struct {
	URL    string
	binary Binary
	dir    string
	args   []string
	cmd    *exec.Cmd
	log    *bytes.Buffer
}

const patience = 20 * time.Second

// Serve starts the server on a free port with the given configuration below its own listen and store; an empty one starts
// it with no configuration file at all.
func (b Binary) Serve(tb testing.TB, config string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	args := []string{"serve", "--listen", "127.0.0.1:0"}
	if config != "" {
		file := filepath.Join(dir, "test.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			tb.Fatal(err)
		}
		args = append(args, "--config", file)
	}
	return b.start(tb, dir, args)
}

// Restart stops the server and starts another one on the same configuration and store, at an address of its own.
func (s *Server) Restart(tb testing.TB) *Server {
	tb.Helper()
	stop(tb, s)
	return s.binary.start(tb, s.dir, s.args)
}

func (b Binary) start(tb testing.TB, dir string, args []string) *Server {
	tb.Helper()
	cmd := exec.Command(string(b), args...) //nolint:gosec,noctx // the binary under test; it is stopped below, gently
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir} //nolint:forbidigo // nothing else reaches the server
	s := &Server{binary: b, dir: dir, args: args, cmd: cmd, log: &bytes.Buffer{}}
	cmd.Stderr = s.log
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatalf("start mooring: %v", err)
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	kill.Stop()
	tb.Cleanup(func() { stop(tb, s) })
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !found {
		tb.Fatalf("mooring said %q (%v), want where it listens", line, err)
	}
	s.URL = url
	return s
}

// stop ends a server that runs, and says what it logged where the test has failed.
func stop(tb testing.TB, s *Server) {
	tb.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	if err := s.cmd.Wait(); err != nil {
		tb.Errorf("mooring ended with %v, want 0 after SIGTERM", err)
	}
	if tb.Failed() {
		tb.Logf("log of mooring:\n%s", s.log)
	}
}

// Get reads a JSON answer of the session API; any status but 200 fails the test.
func (s *Server) Get(tb testing.TB, path string, into any) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		tb.Fatalf("GET %s = %d %s (%v), want 200", path, res.StatusCode, b, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		tb.Fatalf("GET %s = %s: %v", path, b, err)
	}
}

// Texts are the messages of a session's current branch, each as "role: text".
func (s *Server) Texts(tb testing.TB, session string) []string {
	tb.Helper()
	var page struct {
		Messages []struct{ Role, Text string }
	}
	s.Get(tb, "/api/sessions/"+session+"/messages?limit=200", &page)
	var texts []string
	for _, m := range page.Messages {
		texts = append(texts, m.Role+": "+m.Text)
	}
	return texts
}

// Upstream is the configuration of one model server that gets the client's own credential.
func Upstream(url string) string {
	return fmt.Sprintf("upstreams:\n  - {name: fake, url: %q, protocol: both, key: client}\n", url)
}

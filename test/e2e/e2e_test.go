package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is what `make build` makes: unlike one that a test could build for itself it has the pages in it.
const binary = "../../bin/mooring"

// TestPages runs the browser tests beside this file with Node. `make e2e` installs what they import; MOORING_TEST_E2E says
// that they must not be passed over.
func TestPages(t *testing.T) {
	t.Parallel()
	ready(t)
	store := filepath.Join(t.TempDir(), "big.db")
	filled := make(chan error, 1)
	go func() { filled <- prepare(t.Context(), store) }() // what needs it waits for it, the rest does not
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "run.mjs")
	cmd.Env = append(os.Environ(), "MOORING_BIN="+program, "BIG_STORE="+store)
	out, err := cmd.CombinedOutput()
	if failed := <-filled; failed != nil {
		t.Fatal(failed)
	}
	if err != nil {
		t.Fatalf("the browser tests (pictures of failures are in test/e2e/out): %v\n%s", err, failures(out))
	}
	for line := range bytes.SplitSeq(out, []byte("\n")) {
		if bytes.Contains(line, []byte("usable after")) || bytes.Contains(line, []byte("layout shift:")) {
			t.Logf("%s", line)
		}
	}
}

// ready passes the test over where something is missing, unless that is forbidden.
func ready(t *testing.T) {
	t.Helper()
	for what, file := range map[string]string{
		"the packages are not installed: make e2e":      "node_modules/playwright-core",
		"there is no binary with the pages: make build": binary,
		"the pages are not built: make ui":              "../../internal/web/dist/index.html",
	} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("MOORING_TEST_E2E") != "" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
}

// failures leaves out of Node's report what went well: it tells the failed tests once more at its end.
func failures(out []byte) []byte {
	if _, after, found := bytes.Cut(out, []byte("failing tests:")); found {
		return after
	}
	return out
}

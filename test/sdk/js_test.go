package sdk_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestJavaScript runs the tests in js/ with Node. `make clients` installs what they import; MOORING_TEST_CLIENTS says
// that they must not be passed over.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("js/node_modules/openai"); err != nil {
		if os.Getenv("MOORING_TEST_CLIENTS") != "" {
			t.Fatalf("the SDKs are not installed: %v", err)
		}
		t.Skip("the SDKs are not installed: make clients")
	}
	s := start(t)
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", "sdk.test.mjs")
	cmd.Dir = "js"
	cmd.Env = append(os.Environ(), "MOORING_URL="+s.URL, "WRONG_KEY="+wrongKey)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
}

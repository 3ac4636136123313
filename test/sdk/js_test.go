package sdk_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestJavaScript runs the tests in js/ with Node. `make sdks` installs what they import; MOORING_TEST_SDKS says
// that they must not be passed over.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("js/node_modules/openai"); err != nil {
		if os.Getenv("MOORING_TEST_SDKS") != "" {
			t.Fatalf("the SDKs are not installed: %v", err)
		}
		t.Skip("the SDKs are not installed: make sdks")
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

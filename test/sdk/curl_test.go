package sdk_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestNothingConfigured is the first thing that a new user does: start the binary as it is and ask.
func TestNothingConfigured(t *testing.T) {
	t.Parallel()
	s := binary.Serve(t, "")
	tests := []struct{ name, stream, want string }{
		{"buffered", "false", "You said: hello old harbour"},
		{"streamed", "true", "data: [DONE]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := `{"model":"echo","stream":` + tt.stream + `,"messages":[{"role":"user","content":"hello old harbour"}]}`
			got := curl(t, "-H", "Content-Type: application/json", "-d", body, s.URL+"/v1/chat/completions")
			if !strings.Contains(got, tt.want) {
				t.Errorf("curl = %q, want %q in it", got, tt.want)
			}
		})
	}
	t.Run("the echo model is listed", func(t *testing.T) {
		t.Parallel()
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal([]byte(curl(t, s.URL+"/v1/models")), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Data) == 0 || list.Data[0].ID != "echo" {
			t.Errorf("models = %+v, want echo", list.Data)
		}
	})
}

func curl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "curl", append([]string{"-sS", "--fail-with-body"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("curl: %v\n%s", err, out)
	}
	return string(out)
}

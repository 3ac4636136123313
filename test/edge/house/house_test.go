package house

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var comment = regexp.MustCompile(`(?m) +#.*$`)

// The configuration that docs/edge.md has for a trial is the one that the house prints for it.
func TestDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/edge.md")
	if err != nil {
		t.Fatal(err)
	}
	h := &House{
		Provider: &Provider{Issuer: "http://localhost:4750/", origin: "http://localhost:4748"},
		WebUIs:   []*WebUI{newWebUI("tenant-0", "http://127.0.0.1:8787"), newWebUI("tenant-1", "http://127.0.0.1:8788")},
	}
	plain := func(text string) string { return comment.ReplaceAllString(text, "") }
	if want := plain(h.Edge("127.0.0.1:4748", "localhost:4748")); !strings.Contains(plain(string(doc)), want) {
		t.Errorf("docs/edge.md does not have\n%s", want)
	}
}

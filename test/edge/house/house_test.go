package house

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var (
	comment = regexp.MustCompile(`(?m) +#.*$`)
	block   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

func documented(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/edge.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// The configuration that docs/edge.md has for a trial is the one that the house prints for it.
func TestDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	h := &House{
		Provider: &Provider{Issuer: "http://localhost:4750/", origin: "http://localhost:4748"},
		WebUIs:   []*WebUI{newWebUI("tenant-0", "http://127.0.0.1:8787"), newWebUI("tenant-1", "http://127.0.0.1:8788")},
	}
	plain := func(text string) string { return comment.ReplaceAllString(text, "") }
	if want := plain(h.Edge("127.0.0.1:4748", "localhost:4748")); !strings.Contains(plain(documented(t)), want) {
		t.Errorf("docs/edge.md does not have\n%s", want)
	}
}

// containers is what docs/edge.md has as compose.yaml.
type containers struct {
	Services map[string]struct {
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Networks    map[string]struct {
			Address string `yaml:"ipv4_address"`
		} `yaml:"networks"`
	} `yaml:"services"`
	Networks map[string]struct {
		IPAM struct {
			Config []struct{ Subnet, Gateway string } `yaml:"config"`
		} `yaml:"ipam"`
	} `yaml:"networks"`
}

// Each web UI of docs/edge.md is alone on its network and with its state, trusts the edge's address there and nothing else, and is where the edge looks for it.
func TestDocumentedWebUIs(t *testing.T) {
	t.Parallel()
	var all containers
	slots := map[string]string{}
	for _, found := range block.FindAllStringSubmatch(documented(t), -1) {
		text := found[1]
		if strings.Contains(text, "\nservices:") {
			if err := yaml.Unmarshal([]byte(text), &all); err != nil {
				t.Fatal(err)
			}
		}
		for _, slot := range regexp.MustCompile(`\{name: (\S+), url: "(http://172\S+)"\}`).FindAllStringSubmatch(text, -1) {
			slots[slot[1]] = slot[2]
		}
	}
	if len(all.Services) < 2 || len(slots) != len(all.Services) {
		t.Fatalf("docs/edge.md has %d web UIs and %d slots", len(all.Services), len(slots))
	}
	for name, ui := range all.Services {
		at, alone := ui.Networks[name]
		network := all.Networks[name].IPAM.Config
		if !alone || len(ui.Networks) != 1 || len(network) != 1 || len(ui.Volumes) != 1 || !strings.HasPrefix(ui.Volumes[0], name+":") {
			t.Fatalf("%s is %+v on %+v", name, ui, network)
		}
		for what, want := range map[string]string{
			slots[name]: "http://" + at.Address + ":" + ui.Environment["HERMES_WEBUI_PORT"],
			ui.Environment["HERMES_WEBUI_TRUSTED_PROXY_CIDRS"]: network[0].Gateway + "/32",
			ui.Environment["HERMES_WEBUI_TRUSTED_AUTH_HEADER"]: IdentityHeader,
			ui.Environment["HERMES_WEBUI_COOKIE_NAME"]:         SessionCookie,
			ui.Environment["HERMES_WEBUI_HOST"]:                "0.0.0.0",
		} {
			if what != want {
				t.Errorf("%s has %q, want %q", name, what, want)
			}
		}
		if _, path, _ := strings.Cut(ui.Volumes[0], ":"); !strings.HasPrefix(ui.Environment["HERMES_WEBUI_STATE_DIR"], path+"/") {
			t.Errorf("%s keeps its state in %s, outside %s", name, ui.Environment["HERMES_WEBUI_STATE_DIR"], path)
		}
	}
}

package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Kubernetes is told fits together.
func TestManifests(t *testing.T) {
	t.Parallel()
	k := document(t, "kubernetes/kustomization.yaml")
	kinds := map[string]string{}
	for _, name := range k.at("resources").list() {
		doc := document(t, "kubernetes/"+name.text())
		kinds[doc.at("kind").text()] = doc.at("apiVersion").text()
		if got := doc.at("metadata", "name").text(); got != "mooring" {
			t.Errorf("%s is called %q", name.text(), got)
		}
	}
	if diff := cmp.Diff(kinds, map[string]string{"Deployment": "apps/v1", "Service": "v1", "PodDisruptionBudget": "policy/v1"}); diff != "" {
		t.Errorf("kinds (-got +want):\n%s", diff)
	}
	for _, f := range k.at("configMapGenerator", 0, "files").list() {
		_ = read(t, "kubernetes/"+f.text())
	}
	deployment := document(t, "kubernetes/deployment.yaml").at("spec")
	labels := deployment.at("template", "metadata", "labels").v
	for what, selector := range map[string]node{
		"deployment": deployment.at("selector", "matchLabels"), "service": document(t, "kubernetes/service.yaml").at("spec", "selector"),
		"disruption budget": document(t, "kubernetes/poddisruptionbudget.yaml").at("spec", "selector", "matchLabels"),
		"first spread":      pod(t).at("topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
		"second spread":     pod(t).at("topologySpreadConstraints", 1, "labelSelector", "matchLabels"),
	} {
		if diff := cmp.Diff(selector.v, labels); diff != "" || labels == nil {
			t.Errorf("the %s selects other pods (-got +want):\n%s", what, diff)
		}
	}
	replicas := deployment.at("replicas").number()
	if kept := document(t, "kubernetes/poddisruptionbudget.yaml").at("spec", "minAvailable").number(); replicas < 2 || kept < 1 || kept >= replicas {
		t.Errorf("%d replicas, of which %d are to be left: a node could not be emptied", replicas, kept)
	}
	if config := pod(t).at("volumes", 0, "configMap", "name").text(); config != k.at("configMapGenerator", 0, "name").text() {
		t.Errorf("the volume is of %q", config)
	}
	if image := container(t).at("image").text(); image != k.at("images", 0, "name").text() {
		t.Errorf("the image is %q", image)
	}
	secure(t, container(t).at("securityContext"))
	for _, v := range container(t).at("env").list() {
		if v.at("name").text() != "MOORING_LOG_FORMAT" && v.at("valueFrom", "secretKeyRef", "key").text() == "" {
			t.Errorf("%s is written down", v.at("name").text())
		}
	}
}

func secure(t *testing.T, c node) {
	t.Helper()
	for _, want := range []struct {
		is   any
		path []any
	}{
		{false, []any{"allowPrivilegeEscalation"}},
		{true, []any{"readOnlyRootFilesystem"}},
		{"ALL", []any{"capabilities", "drop", 0}},
	} {
		if got := c.at(want.path...).v; got != want.is {
			t.Errorf("%v = %v, want %v", want.path, got, want.is)
		}
	}
	if pod(t).at("securityContext", "runAsNonRoot").v != true || pod(t).at("automountServiceAccountToken").v != false {
		t.Error("the pod has rights that it does not need")
	}
}

// kubectl, where it is there, puts the manifests together.
func TestKustomize(t *testing.T) {
	t.Parallel()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not there")
	}
	out, err := exec.Command(kubectl, "kustomize", filepath.Join(folder, "kubernetes")).CombinedOutput()
	if err != nil || strings.Count(string(out), "\nkind: ") != 4 {
		t.Errorf("kustomize: %v\n%s", err, out)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	services := document(t, "compose/compose.yaml").at("services")
	m := services.at("mooring")
	if n := m.at("deploy", "replicas").number(); n != 2 {
		t.Errorf("%d replicas, want two", n)
	}
	if name := m.at("build", "dockerfile").text(); filepath.Join("../../deploy/compose", m.at("build", "context").text(), name) != filepath.Join(folder, "Dockerfile") {
		t.Errorf("it builds from %s", name)
	}
	for _, service := range []string{"balancer", "mooring"} {
		for _, v := range services.at(service, "volumes").list() {
			from, _, _ := strings.Cut(v.text(), ":")
			_ = read(t, "compose/"+from)
		}
	}
	to, _ := m.at("environment").v.(map[string]any)["MOORING_STORE"].(string)
	user, db := services.at("postgres", "environment", "POSTGRES_USER").text(), services.at("postgres", "environment", "POSTGRES_DB").text()
	if !strings.HasPrefix(to, "postgres://"+user+":") || !strings.Contains(to, "@postgres:5432/"+db+"?") {
		t.Errorf("the replicas use %s, the database is another one", to)
	}
}

// unit is the service file: its keys, the last of each.
func unit(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for line := range strings.Lines(read(t, "systemd/mooring.service")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		key, text, found := strings.Cut(line, "=")
		if !found {
			t.Fatalf("the unit has the line %q", line)
		}
		keys[key] = text
	}
	return keys
}

func TestUnit(t *testing.T) {
	t.Parallel()
	keys := unit(t)
	for key, want := range map[string]string{
		"ExecReload": "/bin/kill -HUP $MAINPID", "EnvironmentFile": "-/etc/mooring/mooring.env", "User": "mooring", "StateDirectory": "mooring",
		"Environment": "MOORING_STORE=sqlite:/var/lib/mooring/mooring.db", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "CapabilityBoundingSet": "",
		"RestartPreventExitStatus": "2",
	} {
		if got, there := keys[key]; got != want || !there {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
	if !strings.HasPrefix(read(t, "systemd/mooring.sysusers.conf"), "u "+keys["User"]+" ") {
		t.Error("the unit's user is made nowhere")
	}
	exe, args, _ := strings.Cut(keys["ExecStart"], " ")
	if args != "serve --config /etc/mooring/mooring.yaml" {
		t.Errorf("it runs %s", args)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not there, and the unit is held against the list above alone")
		return
	}
	path := filepath.Join(t.TempDir(), "mooring.service") // with a program that is there
	if err := os.WriteFile(path, []byte(strings.Replace(read(t, "systemd/mooring.service"), exe, string(binary), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || strings.Contains(string(out), "mooring.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring/internal/app"
)

const port = 4747

// deployments are the ways to run it in containers: the configuration, and the names of the variables that it is given.
func deployments(t *testing.T) map[string][]string {
	t.Helper()
	var compose, kubernetes []string
	environment, _ := document(t, "compose/compose.yaml").at("services", "mooring", "environment").v.(map[string]any)
	for name := range environment {
		compose = append(compose, name)
	}
	for _, v := range container(t).at("env").list() {
		kubernetes = append(kubernetes, v.at("name").text())
	}
	return map[string][]string{"compose/mooring.yaml": compose, "kubernetes/mooring.yaml": kubernetes}
}

func pod(t *testing.T) node {
	t.Helper()
	return document(t, "kubernetes/deployment.yaml").at("spec", "template", "spec")
}

func container(t *testing.T) node {
	t.Helper()
	return pod(t).at("containers", 0)
}

// value is what a variable may hold.
func value(name string) string {
	switch name {
	case "MOORING_STORE":
		return "sqlite:mooring.db"
	case "MOORING_LOG_FORMAT":
		return "json"
	case "MOORING_OPERATOR_HASH":
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(root)))
	}
	return strings.Repeat("x", 32)
}

// run runs the program in a folder of its own, with these variables alone.
func run(t *testing.T, names []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(string(binary), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir}
	for _, name := range names {
		cmd.Env = append(cmd.Env, name+"="+value(name))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A configuration works with the variables that its deployment sets, and with no others.
func TestConfigurationsPass(t *testing.T) {
	t.Parallel()
	for name, variables := range deployments(t) {
		file, err := filepath.Abs(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		out, err := run(t, variables, "check", "--config", file)
		if err != nil || !strings.Contains(out, "ok   store sqlite:mooring.db\n") {
			t.Errorf("check of %s: %v\n%s", name, err, out)
		}
		for i, needed := range variables {
			if !strings.Contains(needed, "HASH") {
				continue
			}
			if out, err := run(t, slices.Delete(slices.Clone(variables), i, i+1), "check", "--config", file); err == nil {
				t.Errorf("check of %s without %s is fine:\n%s", name, needed, out)
			}
		}
		if got, want := document(t, name).at("listen").text(), fmt.Sprintf("0.0.0.0:%d", port); got != want {
			t.Errorf("%s listens on %s, want %s", name, got, want)
		}
	}
}

// What asks whether the program is well asks routes that it has, at the port that it listens on.
func TestProbes(t *testing.T) {
	t.Parallel()
	server := binary.Serve(t, os.Expand(read(t, "kubernetes/mooring.yaml"), value))
	ask := func(who, path, key string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Host = "10.1.2.3:4747" // as of a pod
		res, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if path == "" || res.StatusCode != http.StatusOK {
			t.Errorf("%s asks %q: %s", who, path, res.Status)
		}
	}
	for name, want := range map[string]string{"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/readyz"} {
		get := container(t).at(name, "httpGet")
		ask(name, get.at("path").text(), "")
		if get.at("path").text() != want || get.at("port").text() != container(t).at("ports", 0, "name").text() {
			t.Errorf("%s asks %v, want %s at the container's port", name, get.v, want)
		}
	}
	scrape := document(t, "prometheus/scrape.yaml").at("scrape_configs", 0)
	ask("prometheus", scrape.at("metrics_path").text(), root)
	if job := scrape.at("job_name").text(); job != "mooring" {
		t.Errorf("the job is called %q, the alerts want mooring", job)
	}
	check := regexp.MustCompile(`option httpchk GET (\S+)`).FindStringSubmatch(read(t, "compose/haproxy.cfg"))
	if check == nil || check[1] != "/readyz" {
		t.Fatalf("the balancer checks %q, want /readyz", check)
	}
	ask("haproxy", check[1], "")

	health := image(t).argv("HEALTHCHECK")
	for address, fine := range map[string]bool{strings.TrimPrefix(server.URL, "http://"): true, "127.0.0.1:1": false} {
		config := filepath.Join(t.TempDir(), "mooring.yaml")
		if err := os.WriteFile(config, []byte("listen: "+address+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(health[1:])
		args[slices.Index(args, "--config")+1] = config
		if out, err := run(t, nil, args...); (err == nil) != fine {
			t.Errorf("%q of a server at %s: %v\n%s", health, address, err, out)
		}
	}
}

func TestPortsMatch(t *testing.T) {
	t.Parallel()
	number := fmt.Sprint(port)
	service := document(t, "kubernetes/service.yaml").at("spec", "ports", 0)
	cfg := read(t, "compose/haproxy.cfg")
	published := document(t, "compose/compose.yaml").at("services", "balancer", "ports", 0).text()
	switch {
	case container(t).at("ports", 0, "containerPort").number() != port:
		t.Error("the container has another port")
	case service.at("port").number() != port || service.at("targetPort").text() != container(t).at("ports", 0, "name").text():
		t.Error("the service has another port")
	case !strings.Contains(cfg, "bind :"+number+"\n") || !strings.Contains(cfg, " mooring:"+number+" check"):
		t.Error("the balancer has another port")
	case published != "127.0.0.1:"+number+":"+number:
		t.Errorf("published as %s", published)
	case strings.Join(image(t).of("EXPOSE"), " ") != number:
		t.Errorf("the image exposes %q", image(t).of("EXPOSE"))
	}
	for _, target := range document(t, "prometheus/scrape.yaml").at("scrape_configs", 0, "static_configs", 0, "targets").list() {
		if !strings.HasSuffix(target.text(), ":"+number) {
			t.Errorf("prometheus asks %s", target.text())
		}
	}
}

// Nothing kills the program before its own stop is over.
func TestGraceIsLongEnough(t *testing.T) {
	t.Parallel()
	need := app.DrainTimeout + app.ClosingTimeout
	given := map[string]time.Duration{}
	given["kubernetes"] = time.Duration(pod(t).at("terminationGracePeriodSeconds").number()-container(t).at("lifecycle", "preStop", "sleep", "seconds").number()) * time.Second
	for name, text := range map[string]string{
		"compose": document(t, "compose/compose.yaml").at("services", "mooring", "stop_grace_period").text(), "systemd": unit(t)["TimeoutStopSec"],
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		given[name] = d
	}
	for name, d := range given {
		if d < need {
			t.Errorf("%s kills after %s, a stop takes up to %s", name, d, need)
		}
	}
}

// dockerfile is a list of instructions with their words, the last stage's alone.
type dockerfile struct {
	t     *testing.T
	lines []string
}

func image(t *testing.T) dockerfile {
	t.Helper()
	all := strings.Split(strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " "), "\n")
	for i, line := range slices.Backward(all) {
		if strings.HasPrefix(line, "FROM ") {
			return dockerfile{t, all[i:]}
		}
	}
	t.Fatal("the Dockerfile has no FROM")
	return dockerfile{}
}

// of gives the words behind an instruction.
func (d dockerfile) of(instruction string) []string {
	for _, line := range d.lines {
		if rest, found := strings.CutPrefix(line, instruction+" "); found {
			return strings.Fields(rest)
		}
	}
	d.t.Errorf("the image has no %s", instruction)
	return nil
}

// argv gives the command of an instruction, which no shell reads.
func (d dockerfile) argv(instruction string) []string {
	text := strings.Join(d.of(instruction), " ")
	var args []string
	if err := json.Unmarshal([]byte(text[max(0, strings.IndexByte(text, '[')):]), &args); err != nil || len(args) == 0 {
		d.t.Fatalf("%s %s: %v", instruction, text, err)
	}
	return args
}

func TestImage(t *testing.T) {
	t.Parallel()
	d, text := image(t), read(t, "Dockerfile")
	copied := d.of("COPY")
	entry := d.argv("ENTRYPOINT")[0]
	switch {
	case copied[len(copied)-1] != entry || d.argv("HEALTHCHECK")[0] != entry:
		t.Errorf("it copies %q, runs %q and checks with %q", copied, entry, d.argv("HEALTHCHECK"))
	case d.of("USER")[0] != fmt.Sprint(pod(t).at("securityContext", "runAsUser").number(), ":", pod(t).at("securityContext", "runAsGroup").number()):
		t.Errorf("it runs as %q, Kubernetes as another one", d.of("USER"))
	case strings.Join(d.argv("CMD"), " ") != joined(container(t).at("args")):
		t.Errorf("it runs with %q, Kubernetes with %q", d.argv("CMD"), joined(container(t).at("args")))
	}
	makefile := file(t, "Makefile")
	build := regexp.MustCompile(`go build (.*) -o`).FindStringSubmatch(text)
	if build == nil || !strings.Contains(makefile, "CGO_ENABLED=0 go build "+build[1]) {
		t.Errorf("it builds with %q, make with other flags", build)
	}
	install := regexp.MustCompile(`RUN (npm install .*)`).FindStringSubmatch(text)
	if install == nil || !strings.Contains(makefile, install[1]+"\n") {
		t.Errorf("it installs with %q, make otherwise", install)
	}
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(file(t, "go.mod"))[1]
	if !strings.Contains(text, " golang:"+language+"-") {
		t.Errorf("go.mod wants Go %s, the image is built with another one", language)
	}
}

func joined(n node) string {
	var words []string
	for _, w := range n.list() {
		words = append(words, w.text())
	}
	return strings.Join(words, " ")
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The files that the Dockerfile copies are enough to build the program from.
func TestImageIsBuiltFromWhatIsCopied(t *testing.T) {
	t.Parallel()
	to, root := t.TempDir(), os.DirFS("../..")
	stage := read(t, "Dockerfile")
	stage = stage[strings.Index(stage, "AS build"):strings.LastIndex(stage, "FROM ")]
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(stage, -1) {
		for source := range strings.FieldsSeq(m[1]) {
			found, err := fs.Glob(root, strings.TrimSuffix(source, "/"))
			if err != nil || len(found) == 0 {
				t.Errorf("COPY %s: nothing is there", source)
			}
			for _, name := range found {
				copyTree(t, root, name, to)
			}
		}
	}
	shell := filepath.Join(to, "internal/web/dist/index.html") // what the stage before has built
	if err := os.MkdirAll(filepath.Dir(shell), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(shell, []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(to, "mooring.out"), "./cmd/mooring")
	cmd.Dir, cmd.Env = to, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("build: %v\n%s", err, out)
	}
	kept := read(t, "Dockerfile.dockerignore")
	for _, line := range []string{"!*.go", "!go.mod", "!go.sum", "!cmd/mooring", "!internal"} {
		if !strings.Contains(kept, line+"\n") {
			t.Errorf("the context lacks %s", line)
		}
	}
}

// copyTree copies what .dockerignore leaves.
func copyTree(t *testing.T, root fs.FS, name, to string) {
	t.Helper()
	err := fs.WalkDir(root, name, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "node_modules" && !d.IsDir():
			return nil // where it is kept elsewhere
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || file == "internal/web/dist"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(file)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, file), bytes.Clone(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

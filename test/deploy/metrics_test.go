package deploy_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring/internal/upstreamtest"
)

// metric is what /metrics shows of one.
type metric struct {
	kind   string
	labels map[string]bool
}

var (
	typeLine = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	sample   = regexp.MustCompile(`^([a-z_0-9]+)(?:\{([^}]*)\})? `)
	matcher  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	used     = regexp.MustCompile(`\b((?:mooring|process|go)_\w+|up\b)(?:\{([^}]*)\})?`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	row      = regexp.MustCompile("(?m)^\\| `(mooring_\\w+)` \\| (\\w+) \\|([^|]*)\\| (.*) \\|$")
	template = regexp.MustCompile(`\{\{ *\$?(?:labels\.)?(\w+)`)
)

const (
	root, limited = "mk-root", "mk-limited"
)

// exposed is what a server shows that has had turns of every kind that is counted.
func exposed(t *testing.T) map[string]metric {
	t.Helper()
	up := map[string]*upstreamtest.Server{"a": upstreamtest.New(t), "b": upstreamtest.New(t)}
	yaml := "prices: {fake-1: {input: 1, output: 1}}\nrouting: {policy: round_robin}\nupstreams:\n"
	for _, name := range []string{"a", "b"} {
		yaml += fmt.Sprintf("  - {name: %s, url: %q, protocol: both, keys: [{name: one, key: k1}, {name: two, key: k2}]}\n", name, up[name].URL)
	}
	yaml += fmt.Sprintf("keys:\n  - {name: root, tenant: acme, role: operator, hash: \"sha256:%x\"}\n  - {name: limited, tenant: acme, requests_per_minute: 1, hash: \"sha256:%x\"}\n",
		sha256.Sum256([]byte(root)), sha256.Sum256([]byte(limited)))
	door, text := edge(t)
	server := binary.Serve(t, yaml+text)
	visit(t, door, "first", http.StatusOK)
	visit(t, door, "second", http.StatusServiceUnavailable)
	ask := func(key, model string, want int) string {
		res := call(t, key, server.URL+"/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}]}`, model))
		if res.status != want {
			t.Fatalf("a turn of %s: %d, want %d", model, res.status, want)
		}
		name, _, _ := strings.Cut(res.header.Get("X-Mooring-Upstream"), ";")
		return name
	}
	home := ask(root, "fake-1", http.StatusOK)
	up[home].Down()
	if away := ask(root, "fake-1", http.StatusOK); away == home {
		t.Fatalf("the session stays at %s, which is gone", home)
	}
	ask(root, "no-price", http.StatusOK)
	ask(limited, "fake-1", http.StatusOK)
	ask(limited, "fake-1", http.StatusTooManyRequests)
	var all map[string]metric
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		all = parse(call(t, root, server.URL+"/metrics", "").text)
		if _, committed := all["mooring_sessions_total"]; committed { // the last of them that is counted
			break
		}
	}
	return all
}

// edge is the address and the configuration of a tenant edge with one slot.
func edge(t *testing.T) (address, yaml string) {
	t.Helper()
	slot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><html><head></head><body>a web UI</body></html>")
	}))
	t.Cleanup(slot.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	address = free.Addr().String()
	return address, fmt.Sprintf("edge: {listen: %q, host: chat.example.org, identity: {source: x-forwarded-user, trusted: [127.0.0.1/32]}, salt: %s, slots: [{name: one, url: %q}]}\n",
		address, strings.Repeat("s", 48), slot.URL)
}

// visit opens a page of the edge as somebody.
func visit(t *testing.T, address, who string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "chat.example.org"
	req.Header.Set("X-Forwarded-User", who)
	req.Header.Set("Accept", "text/html")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != want {
		t.Fatalf("a page of %s: %s, %v, want %d\n%s", who, res.Status, err, want, text)
	}
}

// answer is what a server said.
type answer struct {
	status int
	header http.Header
	text   string
}

func call(t *testing.T, key, url, body string) answer {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Mooring-Key", key)
	req.Header.Set("X-Session-Id", "report-"+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func parse(text string) map[string]metric {
	all := map[string]metric{"up": {kind: "gauge", labels: map[string]bool{}}} // Prometheus adds it
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if m := typeLine.FindStringSubmatch(lines.Text()); m != nil {
			names := []string{m[1]}
			if m[2] == "histogram" {
				names = []string{m[1] + "_bucket", m[1] + "_sum", m[1] + "_count"}
			}
			for _, name := range names {
				all[name] = metric{m[2], map[string]bool{}}
			}
		}
		if m := sample.FindStringSubmatch(lines.Text()); m != nil && all[m[1]].labels != nil {
			for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
				all[m[1]].labels[label[1]] = true
			}
		}
	}
	return all
}

// documented is what docs/metrics.md says of each metric: its type, its labels, and words in code marks.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2:]
	}
	return all
}

func notWord(c rune) bool { return strings.ContainsRune("`, ", c) }

// expression is one that an alert or a panel asks, with the text that shows its labels.
type expression struct{ where, query, shows string }

func TestAlertsAndDashboardAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	shown, said := exposed(t), documented(t)
	for _, e := range append(alerts(t), panels(t)...) {
		known := map[string]bool{"job": true, "instance": true, "le": true, "value": true}
		found := used.FindAllStringSubmatch(e.query, -1)
		for _, u := range found {
			m, ok := shown[u[1]]
			if !ok {
				t.Errorf("%s: the program does not show %s", e.where, u[1])
			}
			for label := range m.labels {
				known[label] = true
			}
			for _, l := range matcher.FindAllStringSubmatch(u[2], -1) {
				if l[1] != "job" && !m.labels[l[1]] {
					t.Errorf("%s: %s has no label %s", e.where, u[1], l[1])
				}
				base := strings.TrimSuffix(strings.TrimSuffix(u[1], "_bucket"), "_count")
				if l[1] != "job" && !strings.Contains(strings.Join(said[base], " "), "`"+l[3]+"`") {
					t.Errorf("%s: %s is never %q, as docs/metrics.md says", e.where, l[1], l[3])
				}
			}
		}
		if len(found) == 0 {
			t.Errorf("%s asks for no metric: %s", e.where, e.query)
		}
		for _, g := range grouping.FindAllStringSubmatch(e.query, -1) {
			for label := range strings.FieldsFuncSeq(g[1], notWord) {
				if !known[label] {
					t.Errorf("%s: no metric of it has the label %s", e.where, label)
				}
			}
		}
		for _, l := range template.FindAllStringSubmatch(e.shows, -1) {
			if !known[l[1]] || strings.Contains(e.query, "by (") && l[1] != "value" && !regexp.MustCompile(`by \([^)]*\b`+l[1]+`\b`).MatchString(e.query) {
				t.Errorf("%s shows the label %s, which its result has not", e.where, l[1])
			}
		}
	}
}

// alerts are the rules; each is complete, and explained in the document.
func alerts(t *testing.T) []expression {
	t.Helper()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []expression
	for _, group := range document(t, "prometheus/mooring.rules.yaml").at("groups").list() {
		for _, rule := range group.at("rules").list() {
			name := rule.at("alert").text()
			summary, severity := rule.at("annotations", "summary").text(), rule.at("labels", "severity").text()
			if name == "" || summary == "" || !slices.Contains([]string{"critical", "warning", "info"}, severity) {
				t.Errorf("alert %q: severity %q, summary %q", name, severity, summary)
			}
			if !strings.Contains(string(manual), "`"+name+"`") {
				t.Errorf("docs/operations.md does not say what to do about %s", name)
			}
			all = append(all, expression{name, rule.at("expr").text(), summary})
		}
	}
	if len(all) < 10 {
		t.Errorf("%d alerts", len(all))
	}
	return all
}

// panels are what the dashboard draws; its JSON is whole, and no two panels have one number or one place.
func panels(t *testing.T) []expression {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, "grafana/mooring.json")))
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("grafana/mooring.json goes on behind its end: %v", err)
	}
	var all []expression
	ids, places := map[int]bool{}, map[string]bool{}
	for _, p := range (node{v}).at("panels").list() {
		place := fmt.Sprint(p.at("gridPos", "x").number(), p.at("gridPos", "y").number())
		if id := p.at("id").number(); ids[id] || places[place] {
			t.Errorf("panel %d %s stands on another one", id, p.at("title").text())
		}
		ids[p.at("id").number()], places[place] = true, true
		for _, target := range p.at("targets").list() {
			query := strings.ReplaceAll(target.at("expr").text(), "$__rate_interval", "5m")
			all = append(all, expression{"panel " + p.at("title").text(), query, target.at("legendFormat").text()})
		}
	}
	for _, variable := range (node{v}).at("templating", "list").list() {
		if q := variable.at("query", "query").text(); q != "" {
			all = append(all, expression{"variable " + variable.at("name").text(), q, ""})
		}
	}
	if len(all) < 30 {
		t.Errorf("%d queries in the dashboard", len(all))
	}
	return all
}

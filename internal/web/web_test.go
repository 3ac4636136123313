package web_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"mooring/internal/web"
)

func render(t *testing.T, s web.Start) string {
	t.Helper()
	var b bytes.Buffer
	if err := web.New().Start(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStartPageHoldsNothingInline(t *testing.T) {
	t.Parallel()
	page := render(t, web.Start{Address: "http://127.0.0.1:4747", Running: &web.Running{Upstreams: []web.Upstream{{Name: "demo"}}}})
	// The policy would block each of these, and the page would look broken.
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|<script>|\son[a-z]+=|javascript:|https?://[^1]`)
	if found := inline.FindString(page); found != "" {
		t.Errorf("the page holds %q", found)
	}
}

func TestStartPageLoadsFilesThatExist(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`/static/[a-z.]+`).FindAllString(render(t, web.Start{}), -1)
	if len(names) < 3 {
		t.Fatalf("files = %v, want style sheet, script and mark", names)
	}
	static := web.New().Static()
	for _, name := range names {
		w := httptest.NewRecorder()
		static.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, name, http.NoBody))
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("GET %s = %d, %d bytes", name, w.Code, w.Body.Len())
		}
		if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("GET %s: X-Content-Type-Options = %q", name, got)
		}
	}
}

func TestStartPageEscapes(t *testing.T) {
	t.Parallel()
	page := render(t, web.Start{Address: "http://<b>x", Running: &web.Running{
		Upstreams: []web.Upstream{{Name: "demo", Protocol: "openai", Models: []string{`m"<i>`}}},
	}})
	for _, tag := range []string{"<b>", "<i>"} {
		if strings.Contains(page, tag) {
			t.Errorf("the page holds a foreign %s", tag)
		}
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	static := web.New().Static()
	ask := func(path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		static.ServeHTTP(w, r)
		return w
	}
	first := ask("/static/start.css", "")
	if got := first.Header().Get("Content-Type"); got != "text/css; charset=utf-8" {
		t.Errorf("Content-Type = %q", got)
	}
	if got := ask("/static/start.css", first.Header().Get("ETag")).Code; got != http.StatusNotModified {
		t.Errorf("status with the tag = %d, want 304", got)
	}
	for _, path := range []string{"/static/", "/static/none.css", "/static/../start.html", "/start.html"} {
		if got := ask(path, "").Code; got != http.StatusNotFound {
			t.Errorf("GET %s = %d, want 404", path, got)
		}
	}
}

func TestModelToCopy(t *testing.T) {
	t.Parallel()
	up := func(protocol string, models ...string) web.Upstream {
		return web.Upstream{Protocol: protocol, Models: models}
	}
	for _, row := range []struct {
		name      string
		upstreams []web.Upstream
		want      string
	}{
		{"none known", nil, "MODEL"},
		{"patterns are no names", []web.Upstream{up("both", "*", "gpt-*")}, "MODEL"},
		{"the first name", []web.Upstream{up("openai", "*", "echo", "other")}, "echo"},
		{"one that answers chat", []web.Upstream{up("anthropic", "claude-x"), up("openai", "gpt-x")}, "gpt-x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := web.Start{Running: &web.Running{Upstreams: row.upstreams}}.Model()
			if got != row.want {
				t.Errorf("Model() = %s, want %s", got, row.want)
			}
		})
	}
}

func TestManyModelsAreCounted(t *testing.T) {
	t.Parallel()
	u := web.Upstream{Models: strings.Split("a b c d e f g h", " ")}
	if got := len(u.Shown()) + u.Hidden(); got != 8 || u.Hidden() != 2 {
		t.Errorf("shown and hidden = %d, hidden = %d; want 8, 2", got, u.Hidden())
	}
}

package app_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// image is a message part; its bytes differ with the seed.
func image(seed byte, size int) string {
	raw := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, size))
	return `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + raw + `"}}`
}

func userBody(content string) string {
	return `{"model":"fake-1","messages":[{"role":"user","content":` + content + `}]}`
}

func TestConversationThatOpensWithAnImage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		p := start(t, store+"upstreams:\n"+upstreamYAML("u1", u.URL))
		body := userBody("[" + image(1, 3000) + "]")
		first := p.call(http.MethodPost, "/v1/chat/completions", body).want(http.StatusOK)
		if got := string(u.LastPost(t).Body()); got != body {
			t.Errorf("C129 the upstream got %.200s, want the body as sent", got)
		}
		id := first.header.Get("X-Session-Id")
		title := func() any { return p.call(http.MethodGet, "/api/sessions/"+id, "").want(http.StatusOK).get("title") }
		before := title()
		other := p.call(http.MethodPost, "/v1/chat/completions", userBody("["+image(2, 3000)+"]")).want(http.StatusOK)
		if other.session() == first.session() {
			t.Errorf("C129 two chats with different images share the session %s", first.session())
		}
		next := `{"model":"fake-1","messages":[{"role":"user","content":[` + image(1, 3000) +
			`]},{"role":"assistant","content":"This is answer 1."},{"role":"user","content":"what is it?"}]}`
		if r := p.call(http.MethodPost, "/v1/chat/completions", next, "X-Session-Id", id).want(http.StatusOK); r.session() != first.session() {
			t.Errorf("C129 turn 2 is in session %s, want %s", r.session(), first.session())
		}
		want := []string{"user: [screenshot]", "assistant: This is answer 1.", "user: what is it?", "assistant: This is answer 3."}
		if diff := cmp.Diff(want, p.texts(id)); diff != "" {
			t.Errorf("C129 the branch (-want +got):\n%s", diff)
		}
		if after := title(); before != "[screenshot]" || after != before {
			t.Errorf("C129 title = %q, then %q; want [screenshot] both times", before, after)
		}
	})
}

func TestTextAsStringAndAsPartsIsTheSame(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", u.URL))
	var want []string
	for turn := range 4 {
		var messages []string
		want = nil
		for n := range turn + 1 {
			content := fmt.Sprintf(`"question %d"`, n)
			if (n+turn)%2 == 1 { // each message changes its shape with every turn
				content = `[{"type":"text","text":` + content + `}]`
			}
			messages = append(messages, `{"role":"user","content":`+content+`}`)
			want = append(want, fmt.Sprint("user: question ", n), fmt.Sprintf("assistant: This is answer %d.", n+1))
			if n < turn {
				messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"This is answer %d."}`, n+1))
			}
		}
		p.call(http.MethodPost, "/v1/chat/completions", `{"model":"fake-1","messages":[`+strings.Join(messages, ",")+`]}`,
			"X-Session-Id", "s1").want(http.StatusOK)
	}
	if diff := cmp.Diff(want, p.texts("s1")); diff != "" {
		t.Errorf("C131 the branch (-want +got):\n%s", diff)
	}
	if got := p.call(http.MethodGet, "/api/sessions", "").get("total"); got != 1.0 {
		t.Errorf("C131 %v sessions, want 1", got)
	}
}

func TestBodyAroundTheLimit(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	const limit = 64 << 10
	p := start(t, fmt.Sprintf("limits: {body: %dKiB}\nupstreams:\n", limit>>10)+upstreamYAML("u1", u.URL))
	sized := func(size int) string {
		body := userBody("[" + image(1, limit/2) + "]")
		return body[:len(body)-1] + strings.Repeat(" ", size-len(body)) + "}"
	}
	send := func(size int, way func(*http.Request)) *reply {
		t.Helper()
		r := p.request(http.MethodPost, "/v1/chat/completions", sized(size), "X-Session-Id", "s1")
		way(r)
		return p.send(r)
	}
	for name, way := range map[string]func(*http.Request){
		"with a length": func(*http.Request) {},
		"chunked":       func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(io.MultiReader(r.Body)) },
	} {
		asked := len(u.Posts())
		over := send(limit+1, way).want(http.StatusRequestEntityTooLarge)
		message := fmt.Sprint(over.get("error", "message"))
		if over.get("error", "code") != "body_too_large" || !strings.Contains(message, strconv.Itoa(limit)) || !strings.Contains(message, strconv.Itoa(limit+1)) {
			t.Errorf("C132 %s: %s, want body_too_large with limit and size", name, over.body)
		}
		if len(u.Posts()) != asked {
			t.Errorf("C132 %s: the upstream got a body that is too large", name)
		}
	}
	if got := p.call(http.MethodGet, "/api/sessions", "").get("total"); got != 0.0 {
		t.Errorf("C132 %v sessions after nothing but refusals, want 0", got)
	}
	for _, size := range []int{limit - 1, limit} {
		send(size, func(*http.Request) {}).want(http.StatusOK)
		if got := len(u.LastPost(t).Body()); got != size {
			t.Errorf("C132 the upstream got %d bytes, want %d", got, size)
		}
	}
	send(limit+1, func(*http.Request) {}).want(http.StatusRequestEntityTooLarge)
	p.chat("s1", "small").want(http.StatusOK)
	if got, want := string(u.LastPost(t).Body()), chatBody("small", ""); got != want {
		t.Errorf("C132 the small turn went up as %.200s, want %s", got, want)
	}
}

func TestUpstreamsOwn413(t *testing.T) {
	t.Parallel()
	us := []*upstreamtest.Server{upstreamtest.New(t), upstreamtest.New(t)}
	p := start(t, "routing: {failover_on: [unreachable, 5xx]}\nupstreams:\n"+upstreamYAML("u1", us[0].URL, "key: none")+upstreamYAML("u2", us[1].URL, "key: none"))
	p.chat("s1", "hello").want(http.StatusOK)
	page := upstreamtest.HTML(http.StatusRequestEntityTooLarge)
	for _, u := range us {
		u.Forget()
		u.Queue(page)
	}
	r := p.call(http.MethodPost, "/v1/chat/completions", userBody("["+image(1, 3000)+"]"), "X-Session-Id", "s1").want(http.StatusRequestEntityTooLarge)
	if diff := cmp.Diff(string(page.Body), string(r.body)); diff != "" {
		t.Errorf("C133 body (-upstream +client):\n%s", diff)
	}
	if got := r.header.Get("Content-Type"); got != page.ContentType || r.header.Get("X-Mooring-Error") != "" {
		t.Errorf("C133 Content-Type %q, X-Mooring-Error %q; want the upstream's and none", got, r.header.Get("X-Mooring-Error"))
	}
	if got := len(us[0].Posts()) + len(us[1].Posts()); got != 1 {
		t.Errorf("C133 %d requests went up, want 1", got)
	}
	for _, u := range us {
		u.Forget()
	}
	if got := p.chat("s1", "again").want(http.StatusOK).header.Get("X-Mooring-Upstream"); !strings.HasSuffix(got, "pin=hit") {
		t.Errorf("C133 next turn: %q, want pin=hit: its upstream is well", got)
	}
}

// memoryBound is what docs/limits.md promises for 20 bodies of 20 MB at once under the default limits.
const memoryBound = 3 << 29

// C134: each body is held once, so 20 of 20 MB fit; the small turns of others go on meanwhile.
func TestManyLargeBodiesAtOnce(t *testing.T) {
	t.Parallel()
	if racing {
		t.Skip("the race detector takes memory of its own")
	}
	const calls, size, held = 20, 20 << 20, 5
	all := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(calls)
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); n > size/2 { // a large one waits until all are here
			arrived.Done()
			<-all
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"seen"},"finish_reason":"stop"}]}`)
	}))
	defer u.Close()
	release := sync.OnceFunc(func() { close(all) })
	defer release()
	p := prepare(t, "upstreams:\n"+upstreamYAML("u1", u.URL))
	p.env = []string{"GOMEMLIMIT=512MiB"}
	p.spawn()
	picture := image(7, size*3/4)
	large := func(i int) *reply {
		head, tail := fmt.Sprintf(`{"model":"fake-1","messages":[{"role":"user","content":[{"type":"text","text":"%d"},`, i), `]}]}`
		r := p.request(http.MethodPost, "/v1/chat/completions", head, "X-Session-Id", fmt.Sprint("large-", i))
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(head), strings.NewReader(picture), strings.NewReader(tail)))
		r.ContentLength = int64(len(head) + len(picture) + len(tail))
		return p.send(r)
	}
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			if r := large(i); r.status != http.StatusOK {
				t.Errorf("C134 call %d: status %d, want 200: %.200s", i, r.status, r.body)
			}
		})
	}
	var small []time.Duration
	ready := make(chan struct{})
	go func() { arrived.Wait(); close(ready) }()
	for left := held; left > 0; { // some while the large ones come, the last ones while all of them are held
		began := time.Now()
		p.chat("small", "hello").want(http.StatusOK)
		if t.Failed() {
			return
		}
		small = append(small, time.Since(began))
		select {
		case <-ready:
			left--
		default:
		}
	}
	release()
	group.Wait()
	slices.Sort(small)
	peak := memoryOf(t, p, "VmHWM")
	t.Logf("peak %d MiB, %d small turns, the slowest %s", peak>>20, len(small), small[len(small)-1])
	if peak > memoryBound {
		t.Errorf("C134 peak memory %d MiB, want at most %d MiB", peak>>20, memoryBound>>20)
	}
}

// memoryOf reads a line of a child's /proc/PID/status, in bytes.
func memoryOf(t *testing.T, p *product, line string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.proc.Process.Pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	found := regexp.MustCompile(line + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no %s in %s", line, status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// C105, in small: what is remembered of sessions that come once is bounded, so memory stops growing.
func TestOneShotSessionsLeaveMemoryBounded(t *testing.T) {
	t.Parallel()
	if racing {
		t.Skip("the race detector takes memory of its own")
	}
	u := httptest.NewServer(upstreamtest.NewMock(upstreamtest.MockOptions{Size: 300}))
	defer u.Close()
	p := startChild(t, "sessions: {memory: 4MiB}\ntelemetry: {log: warn}\nupstreams:\n"+upstreamYAML("u1", u.URL))
	const clients, warm, all = 8, 5_000, 20_000
	shoot := func(from, to int) {
		var group sync.WaitGroup
		for c := range clients {
			group.Go(func() {
				for n := from + c; n < to; n += clients {
					if r := p.chat(fmt.Sprint("one-shot-", n), "hello"); r.status != http.StatusOK {
						t.Errorf("C105 session %d: status %d", n, r.status)
						return
					}
				}
			})
		}
		group.Wait()
	}
	shoot(0, warm)
	before := memoryOf(t, p, "VmRSS")
	shoot(warm, all)
	after := memoryOf(t, p, "VmRSS")
	t.Logf("%d MiB after %d sessions, %d MiB after %d", before>>20, warm, after>>20, all)
	if grown := after - before; grown > (all-warm)*2<<10 {
		t.Errorf("C105 memory grew by %d KiB over %d sessions, want at most 2 KiB each", grown>>10, all-warm)
	}
}

package app_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// threeUpstreams are candidates for every request.
func threeUpstreams(t *testing.T) (servers []*upstreamtest.Server, yaml string) {
	t.Helper()
	yaml = "upstreams:\n"
	for i := range 3 {
		servers = append(servers, upstreamtest.New(t))
		yaml += upstreamYAML(fmt.Sprint("u", i+1), servers[i].URL, "key: none")
	}
	return servers, yaml
}

// rush sends n first requests of one id at once, by turns to each of the programs, and checks that they became one session at
// one upstream.
func rush(t *testing.T, n int, programs []*product, servers []*upstreamtest.Server) {
	t.Helper()
	replies := make([]*reply, n)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			p := programs[i%len(programs)]
			ask := p.chat
			if i%2 == 1 {
				ask = p.stream
			}
			<-begin
			replies[i] = ask("race", fmt.Sprint("question ", i))
		})
	}
	close(begin)
	group.Wait()
	marks, homes := map[string]int{}, map[string]bool{}
	for i, r := range replies {
		r.want(http.StatusOK)
		if r.session() != replies[0].session() {
			t.Errorf("request %d is in session %s, request 0 in %s", i, r.session(), replies[0].session())
		}
		name, mark, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), "; ")
		homes[name] = true
		marks[mark]++
	}
	asked := 0
	for _, s := range servers {
		if len(s.Posts()) > 0 {
			asked++
		}
	}
	if asked != 1 || len(homes) != 1 {
		t.Errorf("%d upstreams got requests and %d are named, want 1", asked, len(homes))
	}
	if diff := cmp.Diff(map[string]int{"pin=new": 1, "pin=hit": n - 1}, marks); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	for _, p := range programs {
		list := p.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK)
		if list.get("total") != 1.0 || list.get("sessions", 0, "turns") != float64(n) {
			t.Errorf("%v sessions, %v turns in the first; want 1 and %d", list.get("total"), list.get("sessions", 0, "turns"), n)
		}
	}
}

func TestFirstRequestsAtOnceAreOneSession(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		for range 3 {
			t.Run("", func(t *testing.T) {
				servers, yaml := threeUpstreams(t)
				// a session of an earlier round would not be new: each round has an id space of its own
				p := start(t, store+yaml)
				rush(t, 50, []*product{p}, servers)
				p.stop()
				emptyStore(t, store)
			})
		}
	})
}

func emptyStore(t *testing.T, store string) {
	t.Helper()
	db := openStore(t, store)
	for _, table := range []string{"session", "turn", "message", "chain", "alias", "pin", "blob", "remote"} {
		mustExec(t, db, "DELETE FROM "+table)
	}
}

func TestReplicasThatRaceForAnIDMakeOneSession(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		t.Run(fmt.Sprint("round ", round+1), func(t *testing.T) {
			t.Parallel()
			store := newDatabase(t).yaml("")
			servers, yaml := threeUpstreams(t)
			rush(t, 20, []*product{start(t, store+yaml), start(t, store+yaml)}, servers)
		})
	}
}

// sight is what a client saw of one turn.
type sight struct {
	id, text string // the session's id and the question
	header   http.Header
	body     strings.Builder
	ended    bool // it saw the end: the terminal event, or the whole of a buffered body
}

// ask sends one turn and notes what it sees until the end, or until the connection breaks; seen is called with every event.
func (s *sight) ask(p *product, streamed bool, seen func(line string)) {
	more := ""
	if streamed {
		more = `"stream":true,`
	}
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodPost, "/v1/chat/completions", chatBody(s.text, more), "X-Session-Id", s.id))
	if err != nil {
		return
	}
	defer res.Body.Close()
	s.header = res.Header
	if !streamed {
		_, err := io.Copy(&s.body, res.Body)
		s.ended = err == nil && res.StatusCode == http.StatusOK
		return
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		s.body.WriteString(lines.Text())
		s.ended = s.ended || lines.Text() == "data: [DONE]"
		seen(lines.Text())
	}
}

// phases are where a turn stands when the process is killed. All but the last are held there by the upstream.
func phases(never <-chan struct{}) map[string]upstreamtest.Reply {
	const words = 6 // a stream is a role event, the words, the finish and [DONE]
	text := strings.TrimSpace(strings.Repeat("word ", words))
	return map[string]upstreamtest.Reply{
		"before the header":     {Text: text, Hold: never},
		"after the header":      {Text: text, HoldAt: never, At: 2},
		"in the stream":         {Text: text, HoldAt: never, At: 5},
		"at the terminal event": {Text: text, HoldAt: never, At: words + 2},
		"right after":           {Text: text},
	}
}

// crash is one life of the program: clients in every phase, others that run freely, and the kill.
func crash(t *testing.T, p *product, u *upstreamtest.Server, life int) []*sight {
	t.Helper()
	var mu sync.Mutex // guards all
	var all []*sight
	note := func(id, text string) *sight {
		mu.Lock()
		defer mu.Unlock()
		s := &sight{id: id, text: text}
		all = append(all, s)
		return s
	}
	never, dead := make(chan struct{}), make(chan struct{})
	plan := phases(never)
	u.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		for phase, reply := range plan {
			if strings.Contains(string(r.Body()), phase) {
				return reply
			}
		}
		return upstreamtest.Reply{}
	})
	var held, group sync.WaitGroup
	for phase, reply := range plan {
		s := note(fmt.Sprintf("%s %d", phase, life%3), fmt.Sprintf("%s, life %d", phase, life))
		held.Add(1)
		there := sync.OnceFunc(held.Done)
		events := 0
		group.Go(func() {
			defer there()
			s.ask(p, true, func(line string) {
				if strings.HasPrefix(line, "data: ") {
					events++
				}
				if events >= reply.At || line == "data: [DONE]" {
					there()
				}
			})
		})
		if reply.Hold != nil {
			there() // nothing can be seen of it
		}
	}
	for c := range 3 {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-dead:
					return
				default:
				}
				note(fmt.Sprintf("free %d", c), fmt.Sprintf("free %d, life %d, turn %d", c, life, n)).ask(p, n%2 == 0, func(string) {})
			}
		})
	}
	held.Wait()
	<-time.After(rand.N(20 * time.Millisecond)) // wherever the free ones are by then
	p.kill()
	close(dead)
	group.Wait()
	close(never)
	return all
}

// check holds what a client saw against the store.
func (s *sight) check(t *testing.T, p *product) {
	t.Helper()
	if s.header == nil {
		return
	}
	session := p.call(http.MethodGet, "/api/sessions/"+url.PathEscape(s.id), "")
	if session.status != http.StatusOK || session.get("id") != s.header.Get("X-Mooring-Session") {
		t.Errorf("%s: session %s is lost: %d %s", s.text, s.header.Get("X-Mooring-Session"), session.status, session.body)
	}
	turn := p.call(http.MethodGet, "/api/turns/"+s.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
	state := fmt.Sprint(turn.get("state"))
	if s.ended && state != "completed" {
		t.Errorf("%s: its client saw the end, and it is %s", s.text, state)
	}
	if !s.ended && state != "completed" && state != "interrupted" {
		t.Errorf("%s: state %s, want interrupted, or completed a moment before the kill", s.text, state)
	}
	if !s.ended {
		return
	}
	questions, answers := 0, 0
	tip := fmt.Sprint(turn.get("answer_id"))
	branch := p.call(http.MethodGet, "/api/sessions/"+url.PathEscape(s.id)+"/messages?limit=2&tip="+tip, "").want(http.StatusOK)
	for _, i := range []int{0, 1} {
		if branch.get("messages", i, "text") == s.text {
			questions++
		}
		if branch.get("messages", i, "id") == tip && branch.get("messages", i, "text") != "" {
			answers++
		}
	}
	if questions != 1 || answers != 1 {
		t.Errorf("%s: %d questions and %d answers are stored, want one of each: %s", s.text, questions, answers, branch.body)
	}
}

func TestKillInEveryPhaseLosesNothingThatWasSeen(t *testing.T) {
	t.Parallel()
	const lives = 30
	u := upstreamtest.New(t)
	p := startChild(t, "telemetry: {log: warn}\nupstreams:\n"+upstreamYAML("u1", u.URL))
	var all []*sight
	for life := range lives {
		all = append(all, crash(t, p, u, life)...)
		p.spawn()
	}
	ended := 0
	for _, s := range all {
		s.check(t, p)
		if s.ended {
			ended++
		}
	}
	if ended < lives {
		t.Errorf("%d turns of %d lives were seen to their end, want one a life at least", ended, lives)
	}
	t.Logf("%d turns, %d seen to their end", len(all), ended)
	if got := p.call(http.MethodGet, "/api/sessions?state=running", "").want(http.StatusOK).get("total"); got != 0.0 {
		t.Errorf("%v sessions are still running", got)
	}
	db := openStore(t, fmt.Sprintf("store: %q\n", "sqlite:"+p.dir+"/mooring.db"))
	count := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for what, query := range map[string]string{
		"turns are still running":             `SELECT count(*) FROM turn WHERE state = 'running'`,
		"claims are left":                     `SELECT count(*) FROM pin WHERE NOT bound`,
		"questions are stored twice":          `SELECT count(*) FROM (SELECT 1 FROM message WHERE role = 'user' GROUP BY tenant, turn HAVING count(*) > 1)`,
		"answers are stored twice":            `SELECT count(*) FROM (SELECT 1 FROM message WHERE role = 'assistant' GROUP BY tenant, turn HAVING count(*) > 1)`,
		"completed turns have no answer":      `SELECT count(*) FROM turn WHERE state = 'completed' AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = turn.answer)`,
		"turns have no session":               `SELECT count(*) FROM turn WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.id = turn.session)`,
		"messages have no parent that exists": `SELECT count(*) FROM message m WHERE parent <> '' AND NOT EXISTS (SELECT 1 FROM message p WHERE p.id = m.parent)`,
	} {
		if n := count(query); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// 200 first requests of 50 sessions at three replicas at once are 50 sessions, each with one upstream.
func TestReplicasThatRaceForManyIDsKeepEachAtOneUpstream(t *testing.T) {
	t.Parallel()
	const sessions, requests = 50, 200
	store := newDatabase(t).yaml("")
	servers, yaml := threeUpstreams(t)
	programs := []*product{start(t, store+yaml), start(t, store+yaml), start(t, store+yaml)}
	replies := make([]*reply, requests)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() {
			<-begin
			replies[i] = programs[i%len(programs)].chat(fmt.Sprint("race ", i%sessions), fmt.Sprint("question ", i))
		})
	}
	close(begin)
	group.Wait()
	type home struct{ session, upstream string }
	homes, marks := map[int]home{}, map[string]int{}
	for i, r := range replies {
		name, mark, _ := strings.Cut(r.want(http.StatusOK).header.Get("X-Mooring-Upstream"), "; ")
		marks[mark]++
		got := home{r.session(), name}
		if first, ok := homes[i%sessions]; ok && first != got {
			t.Errorf("request %d is at %+v, others of its session at %+v", i, got, first)
		}
		homes[i%sessions] = got
	}
	if diff := cmp.Diff(map[string]int{"pin=new": sessions, "pin=hit": requests - sessions}, marks); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	asked := 0
	for _, s := range servers {
		asked += len(s.Posts())
	}
	if asked != requests {
		t.Errorf("the upstreams got %d requests, want each once", asked)
	}
	for _, p := range programs {
		if total := p.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK).get("total"); total != float64(sessions) {
			t.Errorf("%v sessions, want %d", total, sessions)
		}
	}
}

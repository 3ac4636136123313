package app_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// C080, the part of the LLM routes: a client that sends a history with an open tool call is the upstream's to judge.
func TestOpenToolCallAfterACrashGoesThroughUntouched(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := startChild(t, "upstreams:\n"+upstreamYAML("u1", u.URL))
	u.Queue(upstreamtest.Reply{Tool: &upstreamtest.ToolCall{ID: "call_1", Name: "deploy", Arguments: `{"to":"prod"}`}})
	p.stream("s1", "deploy it").want(http.StatusOK)
	p.kill()
	p.spawn()
	body := `{"messages":[{"role":"user","content":"deploy it"},{"role":"assistant","content":null,"tool_calls":` +
		`[{"id":"call_1","type":"function","function":{"name":"deploy","arguments":"{\"to\":\"prod\"}"}}]},` +
		`{"role":"user","content":"hi"}],  "model":"fake-1"}`
	send := func(status int) *reply {
		t.Helper()
		r := p.call(http.MethodPost, "/v1/chat/completions", body, "X-Session-Id", "s1").want(status)
		if got := string(u.LastPost(t).Body()); got != body {
			t.Errorf("C080 the upstream got\n%s\nwant\n%s", got, body)
		}
		return r
	}
	send(http.StatusOK)
	u.Queue(upstreamtest.Failure(http.StatusBadRequest)) // a strict server refuses such a history
	if r := send(http.StatusBadRequest); r.header.Get("X-Mooring-Error") != "" {
		t.Errorf("C080 X-Mooring-Error = %q, want none: the refusal is the upstream's", r.header.Get("X-Mooring-Error"))
	}
	want := []string{"user: deploy it", "assistant: ", "user: hi"}
	if diff := cmp.Diff(want, p.texts("s1")); diff != "" {
		t.Errorf("C080 the branch (-want +got):\n%s", diff)
	}
}

func TestTurnKilledWhileStreamingIsInterrupted(t *testing.T) {
	t.Parallel()
	us := []*upstreamtest.Server{upstreamtest.New(t), upstreamtest.New(t)}
	p := startChild(t, "durability: full\nupstreams:\n"+upstreamYAML("u1", us[0].URL, "key: none")+upstreamYAML("u2", us[1].URL, "key: none"))
	never := make(chan struct{})
	for _, u := range us {
		u.Always(upstreamtest.Reply{Text: "one two three four five six seven", HoldAt: never, At: 6})
	}
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodPost, "/v1/chat/completions", chatBody("tell me", `"stream":true,`), "X-Session-Id", "s1"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan() && !strings.Contains(lines.Text(), "five"); {
	}
	p.kill()
	for _, u := range us {
		u.Always(upstreamtest.Reply{Text: "fine"})
	}
	p.spawn()
	turn := p.call(http.MethodGet, "/api/turns/"+res.Header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
	if got := turn.get("state"); got != "interrupted" {
		t.Errorf("C082 state = %v, want interrupted", got)
	}
	if got := p.texts("s1"); len(got) == 0 || got[0] != "user: tell me" {
		t.Errorf("C082 history = %q, want the user's message first", got)
	}
	was, _, _ := strings.Cut(res.Header.Get("X-Mooring-Upstream"), ";")
	next := p.chat("s1", "go on").want(http.StatusOK)
	if got := next.header.Get("X-Mooring-Upstream"); got != was+"; pin=hit" {
		t.Errorf("C082 X-Mooring-Upstream = %q, want %q", got, was+"; pin=hit")
	}
	if next.session() != res.Header.Get("X-Mooring-Session") {
		t.Errorf("C082 session = %s, want %s", next.session(), res.Header.Get("X-Mooring-Session"))
	}
}

func TestPinsSurviveARestart(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		yaml, servers := store+"upstreams:\n", map[string]*upstreamtest.Server{}
		for _, name := range []string{"u1", "u2", "u3"} {
			servers[name] = upstreamtest.New(t)
			yaml += upstreamYAML(name, servers[name].URL, "key: none", "session_headers: [X-Hermes-Session-Id]")
		}
		p := start(t, yaml)
		type home struct{ upstream, remote string }
		ask := func(i int, mark string) home {
			t.Helper()
			r := p.chat(fmt.Sprint("s", i), "hello").want(http.StatusOK)
			name, pin, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), "; ")
			if pin != "pin="+mark {
				t.Errorf("C083 session %d: %q, want pin=%s", i, r.header.Get("X-Mooring-Upstream"), mark)
			}
			return home{name, servers[name].LastPost(t).Header.Get("X-Hermes-Session-Id")}
		}
		const sessions = 30
		var before, after [sessions]home
		seen := map[string]bool{}
		for i := range sessions {
			before[i] = ask(i, "new")
			seen[before[i].upstream] = true
		}
		if len(seen) != len(servers) {
			t.Errorf("C083 %d sessions are spread over %d upstreams, want %d", sessions, len(seen), len(servers))
		}
		p.restart()
		for i := range sessions {
			after[i] = ask(i, "hit")
		}
		if diff := cmp.Diff(before, after, cmp.AllowUnexported(home{})); diff != "" {
			t.Errorf("C083 homes (-before +after):\n%s", diff)
		}
	})
}

// C083: pin_idle counts from the last use, so a session that stays active keeps its pin for as long as it likes.
func TestPinOfAnActiveSessionDoesNotExpire(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	const idle = time.Second
	p := start(t, fmt.Sprintf("routing: {pin_idle: %s}\nupstreams:\n", idle)+upstreamYAML("u1", u.URL))
	p.chat("s1", "begin").want(http.StatusOK)
	began := time.Now()
	for tick := range time.Tick(idle / 4) {
		if got := p.chat("s1", "on").want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != "u1; pin=hit" {
			t.Errorf("C083 after %s: %q, want pin=hit", tick.Sub(began), got)
		}
		if tick.Sub(began) > 2*idle {
			break
		}
	}
}

func TestManyClientsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		t.Run(fmt.Sprint("round ", round+1), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, store string) {
				t.Helper()
				u := upstreamtest.New(t)
				p := start(t, store+"upstreams:\n"+upstreamYAML("u1", u.URL))
				const clients, turns = 20, 10
				var group sync.WaitGroup
				for c := range clients {
					group.Go(func() {
						for n := range turns {
							id := fmt.Sprint("client-", c)
							if r := p.chat(id, fmt.Sprint("question ", n)); r.status != http.StatusOK {
								t.Errorf("C084 client %d, turn %d: status %d, want 200: %s", c, n, r.status, r.body)
							}
						}
					})
				}
				group.Wait()
				rows := map[string]int{}
				for c := range clients {
					for _, row := range p.texts(fmt.Sprint("client-", c)) {
						role, _, _ := strings.Cut(row, ":")
						rows[role]++
					}
				}
				if diff := cmp.Diff(map[string]int{"user": clients * turns, "assistant": clients * turns}, rows); diff != "" {
					t.Errorf("C084 rows (-want +got):\n%s", diff)
				}
				if log := p.log.String(); strings.Contains(log, "locked") {
					t.Errorf("C084 the log speaks of a lock:\n%.2000s", log)
				}
			})
		})
	}
}

// storeDown checks that whatever needs the store is refused, and that no upstream was asked.
func storeDown(t *testing.T, id string, p *product, u *upstreamtest.Server) {
	t.Helper()
	asked := len(u.Posts())
	for what, r := range map[string]*reply{
		"known session":            p.chat("s1", "two"),
		"known session, streamed":  p.stream("s1", "two"),
		"new session":              p.chat("s2", "one"),
		"session that is not sent": p.chat("", "one"),
	} {
		if r.status != http.StatusServiceUnavailable || r.header.Get("X-Mooring-Error") != "store_unavailable" {
			t.Errorf("%s %s: %d %q, want 503 store_unavailable", id, what, r.status, r.header.Get("X-Mooring-Error"))
		}
	}
	if got := len(u.Posts()) - asked; got != 0 {
		t.Errorf("%s the upstream was asked %d times without a store", id, got)
	}
	if r := p.call(http.MethodGet, "/readyz", ""); r.status != http.StatusServiceUnavailable {
		t.Errorf("%s /readyz = %d, want 503", id, r.status)
	}
}

func TestReadOnlyDatabaseIsNoStore(t *testing.T) {
	t.Parallel()
	db, u := newDatabase(t), upstreamtest.New(t)
	g := newGate(t, db.dsn.Host)
	p := start(t, db.yaml(g.addr)+"upstreams:\n"+upstreamYAML("u1", u.URL, "session_headers: [X-Hermes-Session-Id]"))
	p.chat("s1", "one").want(http.StatusOK)
	p.call(http.MethodGet, "/readyz", "").want(http.StatusOK)

	mustExec(t, db.db, "ALTER DATABASE "+db.name+" SET default_transaction_read_only = on")
	if g.say("SET default_transaction_read_only = on") == 0 {
		t.Fatal("the program holds no connection")
	}
	storeDown(t, "C086", p, u)

	admin := openSQL(t, "pgx", strings.Replace(db.dsn.String(), "/"+db.name, "/postgres", 1))
	mustExec(t, admin, "ALTER DATABASE "+db.name+" SET default_transaction_read_only = off")
	eventually(t, "C086 /readyz after the database is back", func() bool {
		return p.call(http.MethodGet, "/readyz", "").status == http.StatusOK
	})
	p.chat("s1", "three").want(http.StatusOK)
	want := []string{"user: one", "assistant: This is answer 1.", "user: three", "assistant: This is answer 2."}
	if diff := cmp.Diff(want, p.texts("s1")); diff != "" {
		t.Errorf("C086 the branch (-want +got):\n%s", diff)
	}
}

// C087: the database has committed and the connection is lost before the program hears it. A turn takes two commits.
func TestCommitWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for nth, what := range []string{1: "beginning", 2: "end"} {
		if what == "" {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			db, u := newDatabase(t), upstreamtest.New(t)
			g := newGate(t, db.dsn.Host)
			p := start(t, db.yaml(g.addr)+"upstreams:\n"+upstreamYAML("u1", u.URL))
			lost := g.loseCommit(nth)
			r := p.chat("s1", "once").want(http.StatusOK)
			select {
			case <-lost:
			default:
				t.Fatalf("C087 the turn ended before commit %d", nth)
			}
			if got := p.turnState(r); got != "completed" {
				t.Errorf("C087 state = %v, want completed", got)
			}
			want := []string{"user: once", "assistant: This is answer 1."}
			if diff := cmp.Diff(want, p.texts("s1")); diff != "" {
				t.Errorf("C087 the branch (-want +got):\n%s", diff)
			}
			for table, rows := range map[string]int{"session": 1, "turn": 1, "message": 2, "pin": 1} {
				got := 0
				if err := db.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != rows {
					t.Errorf("C087 %s has %d rows, want %d", table, got, rows)
				}
			}
			if got := p.call(http.MethodGet, "/api/sessions/s1", "").get("turns"); got != 1.0 {
				t.Errorf("C087 the session counts %v turns, want 1", got)
			}
			if got := p.call(http.MethodGet, "/api/sessions/s1", "").get("usage", "input_tokens"); got != 9.0 {
				t.Errorf("C087 the session counts %v input tokens, want 9", got)
			}
		})
	}
}

// C087, and the database does not come back in time: whoever asked hears that nothing is sure, and the turn, which stands in
// the store, does not stay `running` for as long as the process lives.
func TestBeginningWhoseReplyIsLostForGood(t *testing.T) {
	t.Parallel()
	db, u := newDatabase(t), upstreamtest.New(t)
	g := newGate(t, db.dsn.Host)
	p := start(t, db.yaml(g.addr)+"upstreams:\n"+upstreamYAML("u1", u.URL))
	const running = "SELECT count(*) FROM turn WHERE state = 'running'"
	stands := 0
	for n := 0; stands == 0; n++ { // the commit that is lost may have been one of the program's own
		if n == 20 {
			t.Fatal("no beginning was lost")
		}
		lost := g.loseCommitAndShut(1)
		r := p.chat(fmt.Sprint("s", n), "once")
		<-lost
		if r.status != http.StatusServiceUnavailable || r.header.Get("X-Mooring-Error") != "store_unavailable" {
			t.Errorf("%d %q, want 503 store_unavailable", r.status, r.header.Get("X-Mooring-Error"))
		}
		if err := db.db.QueryRowContext(t.Context(), running).Scan(&stands); err != nil {
			t.Fatal(err)
		}
		g.up()
		eventually(t, "/readyz", func() bool { return p.call(http.MethodGet, "/readyz", "").status == http.StatusOK })
	}
	eventually(t, "the turn's end", func() bool {
		err := db.db.QueryRowContext(t.Context(), running).Scan(&stands)
		return err == nil && stands == 0
	})
}

// nulView is what the session API shows of a conversation full of NULs; it must be the same on both stores.
func nulView(t *testing.T, store string) []string {
	t.Helper()
	u := upstreamtest.New(t)
	p := start(t, store+"upstreams:\n"+upstreamYAML("u1", u.URL))
	u.Queue(upstreamtest.Reply{Text: "d\x00e and\x00 more"})
	r := p.stream("s1", "a\x00b").want(http.StatusOK)
	if got := p.turnState(r); got != "completed" {
		t.Errorf("C088 state = %v, want completed", got)
	}
	const history = `{"role":"user","content":"a\u0000b"},{"role":"assistant","content":"d\u0000e and\u0000 more"}`
	u.Queue(upstreamtest.Reply{Tool: &upstreamtest.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"x\u0000y"}`}})
	p.call(http.MethodPost, "/v1/chat/completions", `{"model":"fake-1","messages":[`+history+`,{"role":"user","content":"next"}]}`,
		"X-Session-Id", "s1").want(http.StatusOK)
	p.call(http.MethodPost, "/v1/chat/completions", `{"model":"fake-1","messages":[`+history+`,{"role":"user","content":"next"},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\\u0000y\"}"}}]},`+
		`{"role":"tool","tool_call_id":"c1","content":"f\u0000g"}]}`, "X-Session-Id", "s1").want(http.StatusOK)
	view := p.texts("s1")
	list := p.call(http.MethodGet, "/api/sessions?q=%00", "").want(http.StatusOK)
	for _, q := range []string{"a", "a%00b"} {
		list = p.call(http.MethodGet, "/api/sessions?q="+q, "").want(http.StatusOK)
		view = append(view, fmt.Sprintf("q=%s: %v", q, list.get("total")))
	}
	return append(view, fmt.Sprint("title: ", list.get("sessions", 0, "title")))
}

func TestNULIsKept(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		want := []string{
			"user: a\u2400b", "assistant: d\u2400e and\u2400 more", "user: next", "assistant: ", "tool: f\u2400g", "assistant: This is answer 3.",
			"q=a: 1", "q=a%00b: 1", "title: a\u2400b",
		}
		if diff := cmp.Diff(want, nulView(t, store)); diff != "" {
			t.Errorf("C088 what the API shows (-want +got):\n%s", diff)
		}
	})
}

func TestNothingWorksWithoutTheStoreAndEverythingAfterwards(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	us := map[string]*upstreamtest.Server{"u1": upstreamtest.New(t), "u2": upstreamtest.New(t)}
	g := newGate(t, db.dsn.Host)
	const keys = `keys: [{name: a, tenant: acme, hash: "sha256:%s"}, {name: b, tenant: globex, hash: "sha256:%s"}]` + "\n"
	p := start(t, db.yaml(g.addr)+fmt.Sprintf(keys, sum("KA"), sum("KB"))+"upstreams:\n"+
		upstreamYAML("u1", us["u1"].URL, "key: none")+upstreamYAML("u2", us["u2"].URL, "key: none"))
	p.key = "KA"
	was, _, _ := strings.Cut(p.chat("s1", "one").want(http.StatusOK).header.Get("X-Mooring-Upstream"), ";")
	session := p.chat("s1", "more").session()

	g.down()
	for _, u := range us {
		storeDown(t, "C090", p, u)
	}
	p.key = "KB"
	for _, path := range []string{"/api/sessions", "/api/sessions/s1", "/api/sessions/" + session + "/messages"} {
		if r := p.call(http.MethodGet, path, ""); r.status != http.StatusServiceUnavailable || r.header.Get("X-Mooring-Error") != "store_unavailable" {
			t.Errorf("C090 GET %s: %d %q, want 503 store_unavailable", path, r.status, r.header.Get("X-Mooring-Error"))
		}
	}
	if r := p.chat("s1", "mine?", "X-Mooring-Session", session); r.status != http.StatusServiceUnavailable {
		t.Errorf("C090 a turn in another tenant's session: %d, want 503", r.status)
	}
	p.key = "wrong"
	p.chat("s1", "one").want(http.StatusUnauthorized)

	g.up()
	p.key = "KA"
	eventually(t, "C090 /readyz after the database is back", func() bool {
		return p.call(http.MethodGet, "/readyz", "").status == http.StatusOK
	})
	if got := p.chat("s1", "two").want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != was+"; pin=hit" {
		t.Errorf("C090 afterwards: %q, want %q", got, was+"; pin=hit")
	}
	for _, row := range p.texts("s1") {
		if !slices.Contains([]string{"user: one", "user: more", "user: two"}, row) && !strings.HasPrefix(row, "assistant: This is") {
			t.Errorf("C090 the branch holds %q", row)
		}
	}
}

// C090, in the middle of a turn: its client hears that it is not stored, and it does not stay `running` for ever.
func TestTurnThatTheStoreCouldNotEndIsEndedLater(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]bool{"before its pin is kept": false, "with its pin kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, u := newDatabase(t), upstreamtest.New(t)
			g := newGate(t, db.dsn.Host)
			p := start(t, db.yaml(g.addr)+"upstreams:\n"+upstreamYAML("u1", u.URL))
			if warm {
				p.chat("s1", "zero").want(http.StatusOK)
			}
			release := make(chan struct{})
			u.Queue(upstreamtest.Reply{Text: "kept words", Hold: release})
			asked := len(u.Posts()) + 1
			answers := make(chan *reply)
			go func() { answers <- p.stream("s1", "one") }()
			if _, err := u.WaitPosts(t.Context(), asked); err != nil {
				t.Fatal(err)
			}
			g.down()
			close(release)
			r := <-answers
			if body := string(r.body); !strings.Contains(body, "store_unavailable") || strings.Contains(body, "[DONE]") {
				t.Errorf("C090 %d %s, want store_unavailable and no [DONE]", r.status, body)
			}
			g.up()
			turns := func() *reply { return p.call(http.MethodGet, "/api/sessions/s1/turns", "") }
			eventually(t, "C090 the turn's end", func() bool {
				r := turns()
				state := r.get("turns", -1, "state")
				return r.status == http.StatusOK && (state == "completed" || state == "failed")
			})
			if got := p.call(http.MethodGet, "/api/sessions/s1", "").get("state"); got != turns().get("turns", -1, "state") {
				t.Errorf("C090 the session is %v, its turn %v", got, turns().get("turns", -1, "state"))
			}
			p.chat("s1", "two").want(http.StatusOK)
			if got := p.texts("s1"); !slices.Contains(got, "user: one") || got[len(got)-2] != "user: two" {
				t.Errorf("C090 the branch is %q", got)
			}
		})
	}
}

func TestFailingInsertShowsNoText(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		// with a flush for each commit the client hears of the failure; see the next test for the journal
		p := start(t, store+"durability: full\nupstreams:\n"+upstreamYAML("u1", u.URL))
		p.chat("s1", "hello").want(http.StatusOK)
		db := openStore(t, store)
		refuse, allow := "ALTER TABLE message ADD CONSTRAINT refuse CHECK (content IS NULL) NOT VALID", "ALTER TABLE message DROP CONSTRAINT refuse"
		if strings.Contains(store, "sqlite:") {
			refuse, allow = "CREATE TRIGGER refuse BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'refused'); END", "DROP TRIGGER refuse"
		}
		mustExec(t, db, refuse)
		for id, ask := range map[string]func(id, text string, hs ...string) *reply{"s1": p.chat, "s2": p.stream} {
			r := ask(id, "remember token=SECRET-77")
			if r.status < http.StatusInternalServerError || strings.Contains(string(r.body), "SECRET-77") {
				t.Errorf("C091 %s: %d %s, want an error without the text", id, r.status, r.body)
			}
		}
		if log := p.log.String(); strings.Contains(log, "SECRET-77") || !strings.Contains(log, "turn failed") {
			t.Errorf("C091 the log, which must tell of the failure and not of the text:\n%s", log)
		}
		mustExec(t, db, allow)
		p.chat("s1", "hello again").want(http.StatusOK)
		p.chat("s2", "hello again").want(http.StatusOK)
	})
}

// C091, where the turn is safe in the journal before the store refuses it.
func TestInsertThatFailsBehindTheJournalShowsNoText(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", u.URL))
	p.chat("s1", "hello").want(http.StatusOK)
	db := openStore(t, fmt.Sprintf("store: %q\n", "sqlite:"+p.dir+"/mooring.db"))
	mustExec(t, db, "CREATE TRIGGER refuse BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'refused'); END")
	r := p.chat("s1", "remember token=SECRET-77")
	eventually(t, "C091 a line of the failure in the log", func() bool { return strings.Contains(p.log.String(), "level=ERROR") })
	if strings.Contains(p.log.String(), "SECRET-77") || strings.Contains(string(r.body), "SECRET-77") {
		t.Errorf("C091 answer %s, log\n%s\nwant neither to show the text", r.body, p.log)
	}
	mustExec(t, db, "DROP TRIGGER refuse")
	p.chat("s1", "hello again").want(http.StatusOK)
}

package identify_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/identify"
)

// talker is a client that sends whole histories and headers of its own.
type talker struct {
	h       *house
	name    string
	tenant  mooring.Tenant
	key     mooring.KeyName
	header  func(turn int) http.Header // of the request that is the turn-th one, from 0
	history []string
	turns   int
	session mooring.SessionID // of the last turn
}

func (h *house) talker(name string, header func(int) http.Header) *talker {
	return &talker{h: h, name: name, header: header}
}

// with is a client whose header has one value.
func (h *house) with(name, header, value string) *talker {
	return h.talker(name, func(int) http.Header { return http.Header{header: {value}, "User-Agent": {"unknown/1.0"}} })
}

// say is one turn.
func (c *talker) say() found {
	c.h.tb.Helper()
	c.history = append(c.history, fmt.Sprintf("u: %s asks %d", c.name, c.turns))
	answer := fmt.Sprintf("%s is told %d", c.name, c.turns)
	f := c.h.turn(ask{tenant: c.tenant, key: c.key, header: c.header(c.turns), talk: c.history, answer: answer})
	c.history = append(c.history, "a: "+answer)
	c.turns++
	c.session = f.Known.ID
	return f
}

func (c *talker) says(n int) *talker {
	for range n {
		c.say()
	}
	return c
}

// again is the talk that the client of that name has had, and its next question.
func (c *talker) again(turns int) []string {
	var out []string
	for i := range turns {
		out = append(out, fmt.Sprintf("u: %s asks %d", c.name, i), fmt.Sprintf("a: %s is told %d", c.name, i))
	}
	return append(out, "u: and now?")
}

// chats are n conversations with a value of their own each.
func (h *house) chats(header string, n int) []*talker {
	out := make([]*talker, n)
	for i := range out {
		out[i] = h.with(fmt.Sprint("chat ", i), header, chatID(i)).says(3)
	}
	return out
}

func chatID(i int) string { return fmt.Sprintf("lane-%08d", i*7919+13) }

// state is what the store knows of a header.
func (h *house) state(tenant mooring.Tenant, name string) (mooring.LearnedHeader, bool) {
	h.tb.Helper()
	list, err := h.store.Learned(h.tb.Context(), tenant)
	if err != nil {
		h.tb.Fatal(err)
	}
	for _, l := range list {
		if l.Name == name {
			return l, true
		}
	}
	return mooring.LearnedHeader{}, false
}

func (h *house) believed(name string) bool {
	h.tb.Helper()
	l, _ := h.state("acme", name)
	return l.State == mooring.LearnBelieved
}

func (h *house) wantRefused(name, why string) {
	h.tb.Helper()
	l, _ := h.state("acme", name)
	if l.State != mooring.LearnRefused || !strings.Contains(l.Why, why) || len(l.Values) > 0 {
		h.tb.Errorf("%s: state %d, why %q, %d values; want it refused: %s", name, l.State, l.Why, len(l.Values), why)
	}
}

func TestLearnedHeader(t *testing.T) {
	t.Parallel()
	t.Run("L-17 it is believed once five sessions of three turns had a value of their own each, not before", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.chats("Convo-Ref", 4)
		h.with("fifth", "Convo-Ref", "lane-fifth").says(2)
		if h.believed("convo-ref") {
			t.Error("it is believed already")
		}
		h.with("sixth", "Convo-Ref", "lane-sixth").says(3)
		if !h.believed("convo-ref") {
			t.Error("it is not believed, (e) whose name has no x-")
		}
	})
	t.Run("tier 9 its value finds the session where the messages say nothing, in any spelling of the name, and names a new one", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		f := h.turn(ask{header: header("x_LANE", chatID(3)), talk: []string{"u: and what about the other thing?"}, answer: "this"})
		if f.New || f.Known.ID != chats[3].session || f.Identity != "learned:x-lane" {
			t.Errorf("found %s by %s, want %s by learned:x-lane", f.Known.ID, f.Identity, chats[3].session)
		}
		last := f.Evidence[len(f.Evidence)-1]
		if last.Signal != "learned:x-lane" || last.Use != "decided" || last.Value != "" || !strings.Contains(last.Why, "believed to name sessions since 1970-01-01") {
			t.Errorf("evidence = %+v", last)
		}
		fresh := h.turn(ask{header: header("X-Lane", "lane-unheard-of"), talk: []string{"u: hello"}, answer: "hi"})
		if !fresh.New || fresh.Identity != "learned:x-lane" || fresh.Sent || !strings.HasPrefix(fresh.ClientID, "api-") {
			t.Errorf("an unknown value: new %v by %s for %q", fresh.New, fresh.Identity, fresh.ClientID)
		}
		if again := h.turn(ask{header: header("X-Lane", "lane-unheard-of"), talk: []string{"u: else"}}); again.Known.ID != fresh.Known.ID {
			t.Errorf("the value that opened %s finds %s", fresh.Known.ID, again.Known.ID)
		}
	})
	t.Run("it decides where the messages agree, and the turn goes on behind the answer that they hold", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		f := chats[1].say()
		if f.Identity != "learned:x-lane" || len(f.stored) != 1 || f.reads > 0 {
			t.Errorf("by %s, stored %q with %d reads; want one message and no read", f.Identity, f.stored, f.reads)
		}
	})
	t.Run("a value that is new joins the session that the messages extend", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.chats("X-Lane", 5)
		late := h.talker("late", func(turn int) http.Header {
			if turn == 0 {
				return http.Header{}
			}
			return header("X-Lane", "lane-comes-late")
		}).says(2)
		f := h.turn(ask{header: header("X-Lane", "lane-comes-late"), talk: []string{"u: else"}})
		if f.Known.ID != late.session {
			t.Errorf("the value finds %s, want %s", f.Known.ID, late.session)
		}
	})
	t.Run("a stronger id decides, and teaches", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for i := range 5 {
			for turn := range 3 {
				h.turn(ask{header: header("X-Session-Id", fmt.Sprint("s", i), "X-Lane", chatID(i)), talk: []string{fmt.Sprint("u: ", turn)}, answer: "ok"})
			}
		}
		if !h.believed("x-lane") {
			t.Fatal("it is not believed")
		}
		f := h.turn(ask{header: header("X-Session-Id", "s1", "X-Lane", chatID(1)), talk: []string{"u: more"}})
		if g := h.turn(ask{header: header("X-Lane", chatID(1)), talk: []string{"u: and more"}}); g.Known.ID != f.Known.ID || f.Identity != "header:x-session-id" {
			t.Errorf("by id %s (%s), by the learned header %s", f.Known.ID, f.Identity, g.Known.ID)
		}
		h.turn(ask{header: header("X-Session-Id", "s1", "X-Lane", chatID(2)), talk: []string{"u: mixed up"}})
		h.wantRefused("x-lane", "one session came with two values")
	})
	t.Run("L-16 what one tenant has shown is nothing to another one", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		f := h.turn(ask{tenant: "other", header: header("X-Lane", chatID(0)), talk: []string{"u: hello"}})
		if !f.New || f.Identity != "minted" || f.Known.ID == chats[0].session {
			t.Errorf("%s by %s", f.Known.ID, f.Identity)
		}
	})
	t.Run("switched off it neither learns nor decides", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.chats("X-Lane", 5)
		f := h.turn(ask{header: header("X-Lane", chatID(0)), talk: []string{"u: hello"}, noMind: true})
		if f.Identity != "minted" || f.learning != nil {
			t.Errorf("by %s, learning %v", f.Identity, f.learning)
		}
	})
}

func TestHeaderThatIsNotLearned(t *testing.T) {
	t.Parallel()
	t.Run("L-18 (a) a value of two sessions ends it before it is believed", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for i := range 8 { // two boxes, four conversations each
			h.with(fmt.Sprint("chat ", i), "X-Box", fmt.Sprint("box-number-", i%2)).says(3)
		}
		h.wantRefused("x-box", "one value came in two sessions")
	})
	t.Run("L-18 and after: nothing is found by it again, for good and across a restart", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		two := h.talker("two", func(turn int) http.Header {
			if turn == 0 {
				return http.Header{}
			}
			return header("X-Lane", chatID(2))
		}).says(2)
		if two.session == chats[2].session {
			t.Error("the messages of another session lost against the header")
		}
		h.wantRefused("x-lane", "one value came in two sessions")
		for range 2 {
			f := h.turn(ask{header: header("X-Lane", chatID(3)), talk: []string{"u: hello"}})
			if f.Identity != "minted" || !strings.Contains(f.Evidence[0].Why, "is not any more: one value came in two sessions") {
				t.Errorf("by %s, %+v", f.Identity, f.Evidence)
			}
			h.cold()
		}
		for i := range 6 {
			h.with(fmt.Sprint("later ", i), "X-Lane", fmt.Sprint("lane-later-", i)).says(3)
		}
		h.wantRefused("x-lane", "one value came in two sessions")
	})
	t.Run("(b) a value that changes within a session ends it, also where there is one session more without a change", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.with("one", "X-Spark", "spark-that-stays").says(3)
		h.talker("two", func(turn int) http.Header { return header("X-Spark", fmt.Sprint("spark-number-", turn/2)) }).says(3)
		h.wantRefused("x-spark", "one session came with two values")
	})
	t.Run("L-20 (c) where the messages are another session's they win, and the header is not believed any more", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		chats[0].header = func(int) http.Header { return header("X-Lane", chatID(4)) }
		was := chats[0].session
		f := chats[0].say()
		if f.Known.ID != was || f.Identity != "content:prefix" {
			t.Errorf("found %s by %s, want %s by its messages", f.Known.ID, f.Identity, was)
		}
		last := f.Evidence[len(f.Evidence)-1]
		if last.Signal != "learned:x-lane" || last.Use != "ignored" || !strings.Contains(last.Why, "not believed any more") {
			t.Errorf("evidence = %+v", f.Evidence)
		}
		h.wantRefused("x-lane", "")
	})
	t.Run("L-18 people who begin again and again under values that are in use end it, though none of them came twice before", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		sessions := map[mooring.SessionID]bool{}
		for i := range 30 { // six people, one after the other
			sessions[h.with(fmt.Sprint("chat ", i), "X-Seat", fmt.Sprint("seat-number-", i%6)).says(3).session] = true
			h.cold()
		}
		h.wantRefused("x-seat", "too many conversations began with values that were in use")
		if len(sessions) < 24 {
			t.Errorf("%d sessions of 30 conversations, want all but six", len(sessions))
		}
	})
	t.Run("sessions with values of their own outweigh requests that hold nothing of theirs", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		for i := range 20 {
			f := h.turn(ask{header: header("X-Lane", chatID(i%5)), talk: []string{fmt.Sprint("u: give me a title ", i)}, answer: "none"})
			if f.Known.ID != chats[i%5].session {
				t.Fatalf("request %d is in %s by %s", i, f.Known.ID, f.Identity)
			}
			h.with(fmt.Sprint("more ", i), "X-Lane", fmt.Sprint("lane-more-", i)).says(2)
		}
		if !h.believed("x-lane") {
			t.Error("it is not believed any more")
		}
	})
	t.Run("(d) a restart loses nothing of what was seen", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for i := range 5 {
			c := h.with(fmt.Sprint("chat ", i), "X-Lane", chatID(i))
			for range 4 {
				c.say()
				if c.turns > 1 {
					h.cold()
				}
			}
		}
		if !h.believed("x-lane") {
			t.Error("it is not believed")
		}
		h.cold()
		if f := h.turn(ask{header: header("X-Lane", chatID(0)), talk: []string{"u: hello"}}); f.Identity != "learned:x-lane" {
			t.Errorf("after a restart: by %s", f.Identity)
		}
	})
	t.Run("sessions of different client keys or programs do not count together", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for i := range 8 {
			c := h.with(fmt.Sprint("chat ", i), "X-Lane", chatID(i))
			if c.key = mooring.KeyName(fmt.Sprint("key-", i%4)); i%2 == 0 {
				c.header = func(int) http.Header {
					return header("X-Lane", chatID(i), "User-Agent", fmt.Sprintf("program%d/1", i))
				}
			}
			c.says(3)
		}
		if h.believed("x-lane") {
			t.Error("it is believed, though it may go with the key or the program")
		}
	})
	t.Run("a request that nothing told apart teaches nothing", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for i := range 8 {
			h.with(fmt.Sprint("chat ", i), "X-Lane", chatID(i)).says(1)
		}
		if _, known := h.state("acme", "x-lane"); known {
			t.Error("something is written down")
		}
	})
	t.Run("side requests teach nothing", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		f := h.turn(ask{header: header("X-Session-Id", "s", "X-Lane", chatID(0)), kind: mooring.KindSide})
		if f.learning != nil {
			t.Errorf("learning = %+v", f.learning)
		}
	})
	t.Run("L-19 names of credentials, people, devices, requests and of HTTP are never kept", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		never := []string{
			"Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "X-Api-Key", "X-Goog-Api-Key", "X-Session-Token", "X-Session-Api-Key", "X-Auth-Sessionid", "Xapikey",
			"X-Access-Id", "X-Client-Id", "X-Consumer-Key", "X-Refresh-Token", "X-Jwt", "X-Passphrase", "X-Hub-Signature", "X-Oauth-State", "X-Amz-Security-Token",
			"X-User-Id", "X-Userid", "X-Member", "X-Device-Id", "X-Deviceid", "X-Machine-Id", "X-Installation-Id", "Vscode-Machineid", "X-Org-Id", "X-Team", "X-Account",
			"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Client-Request-Id", "Traceparent", "X-Trace-Id", "X-B3-Traceid", "Idempotency-Key", "X-Message-Id",
			"X-Openclaw-Turn-Id", "User-Agent", "Accept-Language", "Via", "Forwarded", "X-Forwarded-For", "Cf-Ray", "Sec-Ch-Ua", "Anthropic-Beta", "Openai-Project",
			"X-Stainless-Retry-Count", "X-Mooring-Thing", "Baggage-Token", "X-Prompt-Id", "X-Process-Id",
		}
		for i := range 5 {
			header := http.Header{}
			for _, name := range never {
				header[name] = []string{fmt.Sprintf("value-%08d", i)}
			}
			header["User-Agent"] = []string{"unknown/1"}
			h.talker(fmt.Sprint("chat ", i), func(int) http.Header { return header }).says(4)
		}
		if list, err := h.store.Learned(t.Context(), "acme"); err != nil || len(list) > 0 {
			t.Errorf("kept: %+v, %v", list, err)
		}
	})
	t.Run("values that are no ids are not kept, under whatever name", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for n, value := range []string{
			"short-1", strings.Repeat("x", 257), "two words in it", "/home/someone/project", "https://example.org/x", `{"a":"bbbbbbb"}`, "a=1;b=22222", "someone@example.org",
			"eyJhbGciOiJIUzI1NiJ9.e30.x", "sk-live-0123456789", "undefined", "00000000-0000-0000-0000-000000000000", "{{conversation}}", "caf\xc3\xa9-0123456",
		} {
			for i := range 5 {
				h.with(fmt.Sprint("chat ", n, i), "X-Lane", value).says(3)
			}
		}
		h.with("long", "X-"+strings.Repeat("long-", 20), "lane-12345678").says(3)
		h.talker("twice", func(int) http.Header { return header("X-Lane", "lane-11111111", "X-Lane", "lane-22222222") }).says(3)
		if list, err := h.store.Learned(t.Context(), "acme"); err != nil || len(list) > 0 {
			t.Errorf("kept: %+v, %v", list, err)
		}
	})
	t.Run("neither values nor anything that shows them are kept", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		l, _ := h.state("acme", "x-lane")
		for _, v := range l.Values {
			if len(v.Digest) == 0 || strings.Contains(string(v.Digest), "lane") {
				t.Errorf("value %+v", v)
			}
		}
		hits, err := h.store.AliasHits(t.Context(), "acme", []mooring.Alias{{Class: "learned:x-lane", Value: chatID(0)}, {Class: "name:x-lane", Value: chatID(0)}})
		if err != nil || len(hits) > 0 || chats[0].session == "" {
			t.Errorf("aliases by the value itself: %v, %v", hits, err)
		}
	})
}

func TestLearningWritesSeldom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var wrote []int
	for i := range 6 {
		c := h.with(fmt.Sprint("chat ", i), "X-Lane", chatID(i))
		for range 6 {
			if c.say().learning != nil {
				wrote = append(wrote, c.turns)
			}
		}
	}
	// The second turn, where the session is told from others, and the third one, from which on it is certain.
	if got, want := fmt.Sprint(wrote), "[2 3 2 3 2 3 2 3 2 3 2 3]"; got != want {
		t.Errorf("written in turns %s, want %s", got, want)
	}
}

func TestLearningAndDeletion(t *testing.T) {
	t.Parallel()
	t.Run("a deleted session takes what was seen in it with it, and its value is free", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 5)
		h.commit(&mooring.Delete{Tenant: "acme", Session: chats[2].session})
		h.engine.Forget("acme", chats[2].session, nil)
		if l, _ := h.state("acme", "x-lane"); len(l.Values) != 4 {
			t.Errorf("%d values, want 4", len(l.Values))
		}
		again := h.with("again", "X-Lane", chatID(2)).says(3)
		if again.session == chats[2].session || !h.believed("x-lane") {
			t.Errorf("session %s; believed %v", again.session, h.believed("x-lane"))
		}
		if f := h.turn(ask{header: header("X-Lane", chatID(2)), talk: []string{"u: hello"}}); f.Known.ID != again.session {
			t.Errorf("the value finds %s, want %s", f.Known.ID, again.session)
		}
	})
	t.Run("what a deleted session had before a header is believed does not speak against it", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		chats := h.chats("X-Lane", 3)
		h.commit(&mooring.Delete{Tenant: "acme", Session: chats[2].session})
		h.engine.Forget("acme", chats[2].session, nil)
		h.with("again", "X-Lane", chatID(2)).says(3)
		if l, _ := h.state("acme", "x-lane"); l.State != mooring.LearnWatched || len(l.Values) != 3 {
			t.Errorf("state %d with %d values, want it watched with 3", l.State, len(l.Values))
		}
	})
}

// Two processes that share a store learn from each other, and a refusal wins.
func TestReplicasLearnFromEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.refresh = 30 * time.Second
	h.cold()
	one := h.engine
	chats := h.chats("X-Lane", 5)
	h.cold()
	two := h.engine
	if f := h.turn(ask{header: header("X-Lane", chatID(0)), talk: []string{"u: hello"}}); f.Identity != "learned:x-lane" {
		t.Fatalf("the other process finds by %s", f.Identity)
	}
	chats[0].header = func(int) http.Header { return header("X-Lane", chatID(1)) }
	chats[0].say()
	h.wantRefused("x-lane", "")
	h.engine = one
	h.n += 31 // seconds
	if f := h.turn(ask{header: header("X-Lane", chatID(2)), talk: []string{"u: hello"}}); f.Identity != "minted" {
		t.Errorf("the first process still finds by %s", f.Identity)
	}
	h.engine = two
	if f := h.turn(ask{header: header("X-Lane", chatID(2)), talk: []string{"u: hello"}}); f.Identity != "minted" {
		t.Errorf("the second process still finds by %s", f.Identity)
	}
}

// One that is believed by a process which has not heard of the refusal yet stays refused in the store.
func TestRefusalIsFinalInTheStore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.chats("X-Lane", 1)
	h.commit(&mooring.Learning{Tenant: "acme", Headers: []mooring.LearnedHeader{{Name: "x-lane", State: mooring.LearnRefused, Why: "elsewhere", Refused: time.Unix(1, 0)}}})
	h.chats("X-Lane", 5)
	h.wantRefused("x-lane", "elsewhere")
	hits, err := h.store.AliasHits(t.Context(), "acme", []mooring.Alias{})
	if err != nil || len(hits) > 0 {
		t.Error(hits, err)
	}
}

func TestLearnedChatBegunAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	chats := h.chats("X-Lane", 5)
	req := ask{header: header("X-Lane", chatID(1)), talk: append(chats[1].history, "u: /new")}.decode(t)
	old, err := h.engine.Resolve(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	f := h.engine.Reset(old, req)
	if f.ClientID != old.Known.Key || f.Known.Key != old.Known.Key || f.Reset == nil {
		t.Fatalf("the chat is %q under %q, want %q", f.ClientID, f.Known.Key, old.Known.Key)
	}
	h.commit(&mooring.Begin{New: true, Session: f.Known.Session, Aliases: f.Aliases, Reset: f.Reset})
	h.engine.Learn(identify.Known{Session: f.Known.Session}, f, f.Names)
	h.engine.Forget("acme", old.Known.ID, nil)
	for range 2 {
		c := h.with("fresh", "X-Lane", chatID(1)).says(3)
		if c.session != f.Known.ID || !h.believed("x-lane") {
			t.Errorf("the chat goes on in %s, want %s; believed %v", c.session, f.Known.ID, h.believed("x-lane"))
		}
		h.cold()
	}
}

// Memory and store are bounded, whatever a client sends; what is still in use stays.
func TestLearningIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.memory = 4 << 20
	h.cold()
	for i := range 4 {
		h.with(fmt.Sprint("chat ", i), "X-Lane", chatID(i)).says(3)
	}
	flood := h.talker("flood", func(turn int) http.Header {
		header := header("X-Lane", chatID(9), "User-Agent", "unknown/1.1")
		for i := range 12 {
			header[fmt.Sprintf("X-Noise-%d-%d", turn, i)] = []string{fmt.Sprintf("noise-%08d", i)}
		}
		return header
	})
	flood.says(40)
	list, err := h.store.Learned(t.Context(), "acme")
	if err != nil || len(list) > identify.MaxLearnedNames {
		t.Errorf("%d names are kept, %v; want %d at most", len(list), err, identify.MaxLearnedNames)
	}
	if !h.believed("x-lane") {
		t.Error("the header that was in use is lost")
	}
	for i := range 300 {
		h.turn(ask{header: header("X-Session-Id", fmt.Sprint("many-", i), "X-Lane", chatID(100+i)), talk: []string{"u: hi"}, answer: "ok"})
	}
	if l, _ := h.state("acme", "x-lane"); len(l.Values) > identify.MaxLearnedValues {
		t.Errorf("%d values are kept, want %d at most", len(l.Values), identify.MaxLearnedValues)
	}
	for i := range 400 {
		c := h.with("crowd", "X-Lane", chatID(i))
		c.tenant = mooring.Tenant(fmt.Sprint("tenant-", i))
		c.says(2)
	}
	if got, most := h.engine.LearningBytes(), int64(4<<20)/16; got > most {
		t.Errorf("%d bytes in memory, want %d at most", got, most)
	}
}

// Of headers that go with a request, a device, a person, a process or a session only those of sessions are ever believed, and sessions
// are the same with learning and without wherever the messages tell them apart.
func TestOnlyHeadersOfSessionsAreLearned(t *testing.T) {
	t.Parallel()
	believed := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		with, without := newHouse(t), newHouse(t)
		type chat struct {
			on, off                *talker
			box, who, run, session int
		}
		var chats []*chat
		requests, last := 0, 0
		begin := func() *chat {
			last++
			c := &chat{box: r.IntN(3), who: r.IntN(4), run: last / 3, session: last}
			make := func(h *house) *talker {
				return h.talker(fmt.Sprint("chat ", c.session), func(int) http.Header {
					return header("X-Spark", fmt.Sprintf("spark-%08d", requests), "X-Box", fmt.Sprintf("box-%08d", c.box), "X-Who", fmt.Sprintf("who-%08d", c.who),
						"X-Run", fmt.Sprintf("run-%08d", c.run), "X-Lane", fmt.Sprintf("lane-%08d", c.session), "X-Same", "always-the-same")
				})
			}
			c.on, c.off = make(with), make(without)
			return c
		}
		for range 120 {
			requests++
			if len(chats) == 0 || r.IntN(5) == 0 {
				chats = append(chats, begin())
			}
			c := chats[len(chats)-1-r.IntN(min(len(chats), 4))]
			before := c.on.session
			c.on.say()
			q := c.off.header
			c.off.header = func(int) http.Header { return http.Header{} }
			c.off.say()
			c.off.header = q
			if before != "" && c.on.session != before {
				t.Fatalf("seed %d: %s is split", seed, c.on.name)
			}
			for _, o := range chats {
				if o != c && o.on.session == c.on.session || (o.on.session == c.on.session) != (o.off.session == c.off.session) {
					t.Fatalf("seed %d: %s and %s are one with learning, %v without", seed, o.on.name, c.on.name, o.off.session == c.off.session)
				}
			}
		}
		for _, name := range []string{"x-spark", "x-box", "x-who", "x-run", "x-same"} {
			if l, known := with.state("acme", name); known && l.State == mooring.LearnBelieved || !l.Believed.IsZero() {
				t.Errorf("seed %d: %s was believed", seed, name)
			}
		}
		if with.believed("x-lane") {
			believed++
		}
	}
	if believed < 10 {
		t.Errorf("the header of sessions was believed in %d of 12 runs, want nearly all", believed)
	}
}

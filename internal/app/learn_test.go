package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// lane is the value of a header that no program is known to send.
func lane(i int) string { return fmt.Sprintf("lane-%06d", i*7919) }

// learnLane lets a program learn that X-Lane names sessions: conversations without ids, three turns each.
func learnLane(p *product) []*client {
	p.t.Helper()
	out := make([]*client, 5)
	for i := range out {
		out[i] = p.client("X-Lane", lane(i))
		for turn := range 3 {
			out[i].say(fmt.Sprintf("conversation %d, question %d", i, turn))
		}
	}
	return out
}

// outOfTheBlue is a request under a lane whose messages say nothing of what was said before.
func outOfTheBlue(p *product, i int, text string) *reply {
	p.t.Helper()
	return p.chat("", text, "X-Lane", lane(i)).want(http.StatusOK)
}

func TestLearnedHeaders(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		p := start(t, store+one(u))
		chats := learnLane(p)
		session := make([]string, len(chats))
		for i, c := range chats {
			session[i] = c.say("one more").session()
		}
		eventually(t, "L-17 the header is learned", func() bool {
			return chats[0].say("and more").header.Get("X-Mooring-Identity") == "learned:x-lane"
		})
		for _, when := range []string{"before", "after"} {
			r := outOfTheBlue(p, 1, when+" a restart")
			if got := r.header.Get("X-Mooring-Identity"); got != "learned:x-lane" || r.session() != session[1] {
				t.Errorf("%s a restart: %s by %s, want %s by learned:x-lane", when, r.session(), got, session[1])
			}
			p.restart()
		}
		r := outOfTheBlue(p, 2, "why")
		evidence := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
		if why := fmt.Sprint(evidence.get("evidence")); !strings.Contains(why, "believed to name sessions since 20") || strings.Contains(why, lane(2)) {
			t.Errorf("evidence = %s, want since when the header is believed, and no value", why)
		}
		fresh := outOfTheBlue(p, 77, "somebody else")
		if r := outOfTheBlue(p, 77, "the same one"); r.session() != fresh.session() || fresh.session() == session[0] {
			t.Errorf("an unheard-of value opened %s, and then found %s", fresh.session(), r.session())
		}

		// A request whose messages are another session's than the header says.
		chats[3].headers = []string{"X-Lane", lane(4)}
		wrong := chats[3].say("with the value of another conversation")
		if wrong.session() != session[3] || !strings.HasPrefix(wrong.header.Get("X-Mooring-Identity"), "content:") {
			t.Errorf("L-20 it went to %s by %s, want %s by its messages", wrong.session(), wrong.header.Get("X-Mooring-Identity"), session[3])
		}
		for _, when := range []string{"at once", "after a restart"} {
			r := outOfTheBlue(p, 1, "out of the blue, "+when)
			if got := r.header.Get("X-Mooring-Identity"); got != "minted" {
				t.Errorf("L-18 %s: by %s, want minted", when, got)
			}
			evidence := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
			if why := fmt.Sprint(evidence.get("evidence")); !strings.Contains(why, "is not any more: one ") {
				t.Errorf("%s: evidence = %s, want why the header was given up", when, why)
			}
			p.restart()
		}
		if r := chats[0].say("the messages still tell"); r.session() != session[0] {
			t.Errorf("it went to %s, want %s", r.session(), session[0])
		}
	})
}

func TestLearningSwitchedOff(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	learnLane(p)
	if got := outOfTheBlue(p, 0, "on").header.Get("X-Mooring-Identity"); got != "learned:x-lane" {
		t.Fatalf("by %s, want learned:x-lane", got)
	}
	p.reload(one(u) + "sessions: {learn_headers: false}\n")
	if got := outOfTheBlue(p, 0, "off").header.Get("X-Mooring-Identity"); got != "minted" {
		t.Errorf("switched off: by %s, want minted", got)
	}
	p.reload(one(u))
	if got := outOfTheBlue(p, 0, "on again").header.Get("X-Mooring-Identity"); got != "learned:x-lane" {
		t.Errorf("switched on again: by %s, want learned:x-lane", got)
	}
	q := start(t, one(u)+"sessions: {learn_headers: false}\n")
	learnLane(q)
	q.reload(one(u))
	if got := outOfTheBlue(q, 0, "later").header.Get("X-Mooring-Identity"); got != "minted" {
		t.Errorf("what came while it was off was learned: by %s", got)
	}
}

// A chat whose id was learned begins anew as one with a known id does.
func TestLearnedChatBeginsAnew(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	chats := learnLane(p)
	old := chats[1].say("before").session()
	ack := chats[1].say("/new")
	if ack.session() == old || p.field(ack.session(), "relation") != "reset" {
		t.Fatalf("the chat is still on %s", old)
	}
	for _, r := range []*reply{outOfTheBlue(p, 1, "fresh"), chats[1].say("go on"), outOfTheBlue(p, 1, "and on")} {
		if r.session() != ack.session() || r.header.Get("X-Mooring-Identity") != "learned:x-lane" {
			t.Errorf("%s by %s, want %s by learned:x-lane", r.session(), r.header.Get("X-Mooring-Identity"), ack.session())
		}
	}
	if r := chats[2].say("another chat"); r.header.Get("X-Mooring-Identity") != "learned:x-lane" {
		t.Errorf("the header was given up: by %s", r.header.Get("X-Mooring-Identity"))
	}
	p.restart()
	if r := outOfTheBlue(p, 1, "after a restart"); r.session() != ack.session() {
		t.Errorf("after a restart it is on %s, want %s", r.session(), ack.session())
	}
}

// Of first requests at once under a value that is new one opens the session.
func TestFirstRequestsAtOnceUnderALearnedValue(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	learnLane(p)
	replies := make(chan *reply, 10)
	for i := range cap(replies) {
		go func() { replies <- p.chat("", fmt.Sprint("question ", i), "X-Lane", lane(50)) }()
	}
	sessions := map[string]bool{}
	for range cap(replies) {
		sessions[(<-replies).want(http.StatusOK).session()] = true
	}
	if len(sessions) != 1 {
		t.Errorf("L-10 they became %d sessions, want one", len(sessions))
	}
}

// Deleting a session leaves nothing of the header's value in it, and the client goes on in a new one.
func TestDeletedSessionOfALearnedHeader(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	chats := learnLane(p)
	old := chats[1].say("more").session()
	p.api(http.MethodDelete, "/"+old, "").want(http.StatusNoContent)
	fresh := outOfTheBlue(p, 1, "here again")
	if fresh.session() == old || fresh.header.Get("X-Mooring-Identity") != "learned:x-lane" {
		t.Errorf("%s by %s, want a new session named by the header", fresh.session(), fresh.header.Get("X-Mooring-Identity"))
	}
	if r := outOfTheBlue(p, 1, "and again"); r.session() != fresh.session() {
		t.Errorf("%s, want %s", r.session(), fresh.session())
	}
}

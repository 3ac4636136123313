package app_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// A command with text whose answer failed is not obeyed twice when it is sent again: the request is the next attempt of its turn.
func TestNewChatSentAgain(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		before  []string // what is said before the command
		headers []string
		exact   bool // the chat is named by X-Mooring-Session
	}{
		"L-13 H-21 without ids, as the first request": {},
		"L-13 H-21 without ids, behind a history":     {before: []string{"one", "two"}},
		"L-13 H-21 with an id":                        {before: []string{"one"}, headers: []string{"X-Session-Id", "t"}},
		"L-13 H-21 by X-Mooring-Session":              {before: []string{"one"}, exact: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			c := p.client(of.headers...)
			c.history = []line{{"system", "Be brief."}}
			for _, text := range of.before {
				r := c.say(text)
				if of.exact {
					c.headers = []string{"X-Mooring-Session", r.session()}
				}
			}
			had := p.sessions()
			c.history = append(c.history, line{"user", "/new fresh"})
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
			first := c.send().want(http.StatusInternalServerError)
			last := c.send().want(http.StatusOK)
			turn := "X-Mooring-Turn"
			if last.session() != first.session() || last.header.Get(turn) != first.header.Get(turn) || p.sessions() != had+1 {
				t.Errorf("sent again it is turn %s of %s, want %s of %s; %d sessions, want %d", last.header.Get(turn), last.session(),
					first.header.Get(turn), first.session(), p.sessions(), had+1)
			}
			if diff := cmp.Diff([]string{"system: Be brief.", "user: fresh"}, sentTo(t, u)); diff != "" {
				t.Errorf("upstream got (-want +got):\n%s", diff)
			}
			c.history = append(c.history, line{"assistant", c.answer(last)})
			if of.exact {
				return
			}
			if r := c.say("go on"); r.session() != last.session() || len(p.texts(r.session())) != 4 {
				t.Errorf("the turn after it is in %s by %s, want %s; it holds %v", r.session(), r.header.Get("X-Mooring-Identity"), last.session(), p.texts(r.session()))
			}
		})
	}
}

// A command that is sent again while its first try still runs, and says so, goes on in that one's place.
func TestNewChatSentAgainWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"L-13 with an id": "t", "L-13 without ids": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			if id != "" {
				p.chat(id, "old").want(http.StatusOK)
			}
			had, sent := p.sessions(), len(u.Posts())
			u.Queue(upstreamtest.Reply{Fault: upstreamtest.Hang})
			var group sync.WaitGroup
			var first *reply
			group.Go(func() { first = p.chat(id, "/new fresh") })
			if _, err := u.WaitPosts(t.Context(), sent+1); err != nil {
				t.Fatal(err)
			}
			again := p.chat(id, "/new fresh", "X-Stainless-Retry-Count", "1").want(http.StatusOK)
			group.Wait()
			if first.header.Get("X-Mooring-Error") != "turn_cancelled" {
				t.Errorf("the first try got %d %s", first.status, first.body)
			}
			turns := p.turns(again.session())
			if p.sessions() != had+1 || len(turns) != 1 || len(attempts(turns[0])) != 2 {
				t.Errorf("%d sessions, want %d; turns = %v, want one with two attempts", p.sessions(), had+1, turns)
			}
		})
	}
}

// What a chat was told when it began anew says which chat it is, also where two go on alike.
func TestNewChatsThatGoOnAlike(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Text: "Good day to you, how may I be of any help on this fine and sunny morning? Ask me whatever you want."})
	p := start(t, one(u))
	a, b := p.client(), p.client()
	chats := []*client{a, b}
	var fresh [2]string
	for i, c := range chats {
		fresh[i] = c.say("/new").session()
	}
	for turn := range 4 {
		for n := range chats {
			i := (n + turn) % 2 // each of them is the first one to go on in turn
			c := chats[i]
			if r := c.say(fmt.Sprint("hello ", turn)); r.session() != fresh[i] {
				t.Errorf("H-20 turn %d of chat %d is in %s by %s, want %s", turn, i, r.session(), r.header.Get("X-Mooring-Identity"), fresh[i])
			}
		}
	}
}

// A reset takes the names of its own chat, and none that names another session.
func TestNewChatLeavesOtherNames(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	generic, affinity := []string{"X-Session-Id", "short"}, []string{"X-Session-Affinity", "short"}
	p.chat("", "one", generic...).want(http.StatusOK)
	second := p.client(affinity...) // such an id counts only as far as what is said does not speak against it
	other := second.say("two").session()
	both := append(append([]string{}, generic...), affinity...)
	p.chat("", "/new", both...).want(http.StatusOK)
	if r := second.say("three"); r.session() != other {
		t.Errorf("H-22 the other chat id reaches %s, want %s", r.session(), other)
	}
	p.chat("", "one", "X-Session-Affinity", "late").want(http.StatusOK)
	fresh := p.chat("", "/new", "X-Session-Id", "late", "X-Session-Affinity", "late").want(http.StatusOK).session()
	if got := p.field("late", "id"); got != fresh {
		t.Errorf("C118 the key of a chat that was known by its lower name means %v, want %s", got, fresh)
	}
	keyed := 0
	for _, id := range p.listed() {
		if p.field(id, "key") == "late" {
			keyed++
		}
	}
	if keyed != 1 {
		t.Errorf("%d sessions have the chat's key, want one", keyed)
	}
}

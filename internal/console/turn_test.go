package console_test

import (
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/apiclient"
	"mooring/internal/console"
)

// moved is a turn that a second upstream answered.
func moved() apiclient.Turn {
	return apiclient.Turn{
		ID: "trn_1", SessionID: "ses_1", Kind: mooring.KindMain, Protocol: mooring.Chat, Model: "fake-1", Stream: true,
		State: mooring.Completed, Status: 200, Upstream: "second", Account: "team", Pin: mooring.PinMoved, Identity: "header:x-session-id",
		Evidence: []mooring.Evidence{
			{Signal: "header:x-session-id", Says: "session", Value: "talk\x1b[2J", Points: "ses_1", Use: "decided", Why: "the strongest id of the request"},
			{Signal: "header:x-chat-id", Says: "session", Value: "t2", Points: "new", Use: "ignored"},
			{Signal: "header:x-parent-session-id", Says: "parent", Value: "p1", Points: "ses_0", Use: "decided", Why: "it names the session above"},
			{Signal: "header:authorization", Says: "never", Use: "never", Why: "it is a credential"},
			{Signal: "header:x-y", Value: "talk", Use: "invented", Why: "a later release says so"},
		},
		Attempts: []apiclient.Attempt{
			{Upstream: "first", State: mooring.Failed, Reason: "The upstream first refused the connection.", DurationMS: new(int64(12))},
			{Upstream: "second", Account: "team", State: mooring.Completed, Status: 200, DurationMS: new(int64(1500))},
		},
		Usage: usage(1000, 200, 34, 0), CostUSD: new(0.00492),
		StartedAt: now, FirstAt: now.Add(20 * time.Millisecond), EndedAt: now.Add(1512 * time.Millisecond),
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	s := apiclient.Session{Key: "talk", Title: "A title"}
	got := shown(t, console.Style{}, func(p console.Page) error { return p.Turn(moved(), &s) })
	same(t, `
Turn trn_1
  A main request in the chat protocol for fake-1, to be streamed.
  It began at 2026-11-29 14:00:00 EET, its answer 20 ms later, and ended after 1.5 s.
  It completed; the client got 200 OK.

Session ses_1
  It is "A title", known to its client as "talk".
  The request's header X-Session-Id named it.
  - header:x-session-id = "talk␛[2J", which names ses_1, decided: the strongest id of the request.
  - header:x-chat-id = "t2", new here, was ignored.
  - header:x-parent-session-id (parent) = "p1", which names ses_0, decided: it names the session above.
  - header:authorization is never used: it is a credential.
  - header:x-y = "talk" invented: a later release says so.

Upstream second
  The session was at another upstream, which could not answer: it moved, and stays here.
  Its account there is team.
  1. first: failed, after 12 ms: The upstream first refused the connection.
  2. second (account team): completed, 200 OK, after 1.5 s.

Cost $0.0049
  Tokens: 1,200 in (200 of them read from a cache), 34 out.
`, got)
}

func why(w mooring.Why) func(*apiclient.Turn) {
	return func(t *apiclient.Turn) { t.Attempts[len(t.Attempts)-1].Why = w }
}

func TestTurnSays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		change func(*apiclient.Turn)
		want   string
	}{
		{"a running turn", func(t *apiclient.Turn) { t.State, t.EndedAt = mooring.Running, time.Time{} }, "its answer 20 ms later.\n  It is still running."},
		{"an error that Mooring made", func(t *apiclient.Turn) { t.State, t.Status, t.ErrorCode = mooring.Failed, 503, "upstream_unavailable" }, "It failed; the client got 503 Service Unavailable with the error upstream_unavailable, which Mooring made."},
		{"an interrupted turn", func(t *apiclient.Turn) { t.State, t.Status = mooring.Interrupted, 0 }, "its server ended before it did."},
		{"no upstream was asked", func(t *apiclient.Turn) { t.Pin, t.Upstream = "", "" }, "Upstream none\n  No upstream was asked."},
		{"no pin was kept", func(t *apiclient.Turn) { t.Pin = "" }, "no upstream is kept until one has answered well"},
		{"a new pin", func(t *apiclient.Turn) { t.Pin = mooring.PinNew }, "the policy chose"},
		{"a pin that held", func(t *apiclient.Turn) { t.Pin = mooring.PinHit }, "was there before, and stayed"},
		{"a session that began where its parent is", why(mooring.WhyInherited), "it began where the session is that it comes from"},
		{"what only its maker can read", why(mooring.WhyOrigin), "it went back there"},
		{"a session that is back", why(mooring.WhyReturned), "It is well again, and the session went back."},
		{"a turn that its upstream had no room for", why(mooring.WhySpilled), "this turn alone went elsewhere"},
		{"an upstream that is gone", why(mooring.WhyRemoved), "not in the configuration any more"},
		{"a move, as the mark says it", why(mooring.WhyFailover), "which could not answer: it moved"},
		{"an alias", func(t *apiclient.Turn) { t.Attempts[1].Alias, t.Attempts[1].Model = "fast", "m-2" }, "2. second (account team), asked for m-2 in the place of fast: completed"},
		{"an upstream that was waited for", func(t *apiclient.Turn) { t.Attempts[0].Tries = 14 }, "1. first, 14 times while it was waited for: failed"},
		{"a cost that is not known", func(t *apiclient.Turn) { t.CostUSD = nil }, "Cost unknown\n  Tokens: 1,200 in"},
		{"tokens that are not known", func(t *apiclient.Turn) { t.Usage = apiclient.Usage{} }, "told no number of tokens"},
		{"a window of the conversation", func(t *apiclient.Turn) { t.View = &mooring.View{From: "msg_7", Sent: 50} }, "held 50 messages of its branch, from msg_7 on"},
		{"a lone message", func(t *apiclient.Turn) { t.View = &mooring.View{Sent: 1} }, "held 1 message, and none that the session had before"},
		{"minted", func(t *apiclient.Turn) { t.Identity = "minted" }, "named no session, so a new one was begun"},
		{"a field", func(t *apiclient.Turn) { t.Identity = "body:metadata.user_id" }, "The field metadata.user_id of the request's body"},
		{"a response", func(t *apiclient.Turn) { t.Identity = "response:previous_response_id" }, "goes on from an earlier answer (previous_response_id)"},
		{"a learned header", func(t *apiclient.Turn) { t.Identity = "learned:x-thing" }, "header X-Thing named it, which was learned"},
		{"content", func(t *apiclient.Turn) { t.Identity = "content:prefix" }, "extend this conversation"},
		{"content of a later release", func(t *apiclient.Turn) { t.Identity = "content:scent" }, "content led to it (scent)"},
		{"something of a later release", func(t *apiclient.Turn) { t.Identity = "stars:\x1b[2J" }, "What decided was stars:␛[2J."},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			turn := moved()
			row.change(&turn)
			got := shown(t, console.Style{}, func(p console.Page) error { return p.Turn(turn, nil) })
			if !strings.Contains(got, row.want) || !strings.Contains(got, "cannot be read any more") {
				t.Errorf("%q is not in\n%s", row.want, got)
			}
		})
	}
}

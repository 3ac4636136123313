//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// wholeTests hold what a batch does against what its changes do in a batch each: a turn that begins and ends in one batch is
// written at once, and nobody may be able to tell. Two tenants have the same ids, one goes this way, one that.
func wholeTests() []test {
	var out []test
	for name, batch := range wholeBatches() {
		out = append(out, test{"a batch does what its changes do alone: " + name, func(t *testing.T, s Store) {
			together, apart := as("together", batch()), as("apart", batch())
			for _, who := range []mooring.Tenant{"together", "apart"} {
				for _, c := range as(who, []mooring.Change{newSession(1), ended(1, 1, 2)}) {
					apply(t, s, c)
				}
			}
			for _, times := range []string{"once", "twice"} {
				applyAny(t, s, together...)
				for _, c := range apart {
					applyAny(t, s, c)
				}
				for _, session := range []int{1, 40} {
					if diff := cmp.Diff(shown(t, s, "apart", session), shown(t, s, "together", session)); diff != "" {
						t.Errorf("session %d, committed %s (-apart +together):\n%s", session, times, diff)
					}
				}
			}
		}})
	}
	return out
}

// as gives the changes to a tenant.
func as(who mooring.Tenant, changes []mooring.Change) []mooring.Change {
	for _, change := range changes {
		switch c := change.(type) {
		case *mooring.Begin:
			c.Session.Tenant, c.Turn.Tenant = who, who
		case *mooring.Bind:
			c.Pin.Tenant = who
		case *mooring.End:
			c.Turn.Tenant = who
			if c.Bind != nil {
				c.Bind.Tenant = who
			}
		case *mooring.Delete:
			c.Tenant = who
		case *mooring.PinsUsed:
			for i := range c.Pins {
				c.Pins[i].Tenant = who
			}
		}
	}
	return changes
}

// shown is all that reads give of a session, without the tenant's name.
func shown(t *testing.T, s Store, who mooring.Tenant, in int) []any {
	t.Helper()
	ctx, id := t.Context(), sessionID(in)
	session, err := s.Session(ctx, who, id)
	if mooring.CodeOf(err) == mooring.CodeSessionNotFound && err != nil {
		session, err = mooring.Session{}, nil
	}
	turns, _, turnsErr := s.Turns(ctx, who, id, mooring.TurnPage{})
	pins, pinsErr := s.Pins(ctx, who, id)
	hits, hitsErr := s.AliasHits(ctx, who, []mooring.Alias{{Class: mooring.ClassAny, Value: "too"}})
	found, foundErr := s.Chain(ctx, who, [][]byte{[]byte("seen")})
	out := []any{session.Turns, hits, found}
	for parent := range 60 { // every message, on a branch or not
		of := mooring.MessageID("")
		if parent > 0 {
			of = messageID(parent)
		}
		list, listErr := s.Children(ctx, who, id, of)
		if listErr != nil {
			t.Fatal(listErr)
		}
		for _, m := range list {
			m.Tenant = ""
			out = append(out, m)
		}
	}
	if err = errors.Join(err, turnsErr, pinsErr, hitsErr, foundErr); err != nil {
		t.Fatal(err)
	}
	session.Tenant = ""
	out = append(out, session)
	for _, turn := range turns {
		turn.Tenant = ""
		out = append(out, turn)
	}
	for _, p := range pins {
		p.Tenant = ""
		out = append(out, p)
	}
	return out
}

// wholeBatches make the changes of a batch, in session 1 that is there and session 40 that is not.
func wholeBatches() map[string]func() []mooring.Change {
	return map[string]func() []mooring.Change{
		"an answer": func() []mooring.Change {
			return []mooring.Change{asked(10), answeredBy(10, 20)}
		},
		"no answer, nor a question": func() []mooring.Change {
			return []mooring.Change{asked(10), answeredBy(10, 20), next(1, 30), ended(1, 30, 0)}
		},
		"a failure, which brings its question alone": func() []mooring.Change {
			c := ended(1, 10, 0)
			c.Turn.State, c.Turn.Usage, c.Turn.CostUSD, c.Turn.Status = mooring.Failed, mooring.Usage{}, nil, 502
			c.Turn.ErrorCode, c.Turn.Upstream = mooring.CodeUpstreamError, ""
			return []mooring.Change{asked(10), c}
		},
		"an answer longer than a row holds, found by its digests": func() []mooring.Change {
			c := answeredBy(10, 20)
			c.Answer.Content, c.Answer.Seen = bytes.Repeat([]byte("long "), 2000), []byte("seen")
			return []mooring.Change{asked(10), c}
		},
		"what the session takes once": func() []mooring.Change {
			b := asked(10)
			b.Session.Title, b.Session.Client, b.Session.Project, b.Session.Upstream = "t", "c", "p", "west"
			b.Session.Models, b.Turn.Evidence, b.Turn.View = []string{"m"}, []mooring.Evidence{{Signal: "s", Use: "decided"}}, &mooring.View{Sent: 2}
			b.Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: "too"}}
			return []mooring.Change{b, answeredBy(10, 20)}
		},
		"another model that answered": func() []mooring.Change {
			b, c := asked(10), answeredBy(10, 20)
			b.Session.Models, c.Turn.Model, c.Models = []string{"model-a", "model-b"}, "model-c", []string{"model-a", "model-c"}
			return []mooring.Change{b, c}
		},
		"a price that nobody knows": func() []mooring.Change {
			c := answeredBy(10, 20)
			c.Turn.CostUSD, c.Turn.Usage.CacheRead = nil, mooring.Count(7)
			return []mooring.Change{asked(10), c}
		},
		"a pin in the end": func() []mooring.Change {
			c := answeredBy(10, 20)
			c.Bind = pin(1, 10, "south")
			c.Bind.Bound = true
			return []mooring.Change{asked(10), c}
		},
		"a claim that is given up": func() []mooring.Change {
			b, c := newSession(40), ended(40, 40, 0)
			b.Claim = pin(40, 40, "north")
			c.DropClaim = true
			d := answeredBy(10, 20)
			d.DropClaim = true
			return []mooring.Change{b, asked(10), c, d}
		},
		"a pin that moves in between": func() []mooring.Change {
			between, c := pin(1, 10, "north"), answeredBy(10, 20)
			c.Bind = pin(1, 10, "south")
			return []mooring.Change{asked(10), &mooring.Bind{Pin: *between}, c, &mooring.PinsUsed{Pins: []mooring.Pin{*pin(1, 59, "")}}}
		},
		"a side turn": func() []mooring.Change {
			b, c := asked(10), answeredBy(10, 20)
			b.Turn.Kind, c.Turn.Kind = mooring.KindSide, mooring.KindSide
			return []mooring.Change{b, c}
		},
		"a turn in a session of side turns alone": func() []mooring.Change {
			b := newSession(40)
			b.Turn.Kind = mooring.KindSide
			return []mooring.Change{b, ended(40, 40, 0), next(40, 30), ended(40, 30, 0)}
		},
		"a session that is deleted in between": func() []mooring.Change {
			return []mooring.Change{newSession(40), next(40, 30), &mooring.Delete{Session: sessionID(40)}, ended(40, 30, 50)}
		},
		"a session that is not there": func() []mooring.Change {
			return []mooring.Change{next(40, 30), ended(40, 30, 50)}
		},
		"two turns one after the other": func() []mooring.Change {
			return []mooring.Change{asked(10), answeredBy(10, 20), asked(30), answeredBy(30, 50)}
		},
		"two turns side by side, the first ends first": func() []mooring.Change {
			return []mooring.Change{asked(10), asked(30), answeredBy(10, 20), answeredBy(30, 50)}
		},
		"two turns side by side, the second ends first": func() []mooring.Change {
			first := answeredBy(10, 20)
			first.Turn.EndedAt = at(55)
			return []mooring.Change{asked(10), asked(30), answeredBy(30, 50), first}
		},
		"a turn inside another one": func() []mooring.Change {
			c := next(1, 30)
			return []mooring.Change{asked(10), c, ended(1, 30, 0), answeredBy(10, 20)}
		},
		"a later turn that goes on": func() []mooring.Change {
			return []mooring.Change{asked(10), answeredBy(10, 20), asked(30)}
		},
		"the end of an earlier turn comes late": func() []mooring.Change {
			return []mooring.Change{asked(10), asked(30), answeredBy(30, 50)}
		},
		"the next attempt of a turn": func() []mooring.Change {
			failed := ended(1, 10, 0)
			failed.Turn.State, failed.Turn.Attempts = mooring.Failed, []mooring.Attempt{{Upstream: "north", State: mooring.Failed}}
			return []mooring.Change{asked(10), failed, asked(10), answeredBy(10, 20)}
		},
		"the process of a turn is given up in between": func() []mooring.Change {
			b, c := asked(10), answeredBy(10, 20)
			b.Turn.Replica = "dead"
			return []mooring.Change{b, &mooring.Retire{Replica: "replica-a", At: at(40)}, c}
		},
	}
}

// asked begins a turn with a question below the session's first message.
func asked(n int) *mooring.Begin {
	c := next(1, n)
	c.Turn.StartedAt = at(n)
	m := message(1, n+1, "")
	m.Turn, m.CreatedAt = c.Turn.ID, at(n)
	c.Messages, c.Turn.Question = []mooring.Message{m}, m.ID
	return c
}

func answeredBy(n, answer int) *mooring.End {
	c := ended(1, n, answer)
	c.Turn.StartedAt, c.Turn.EndedAt, c.Turn.FirstAt = at(n), at(n+1), at(n)
	c.Answer.Parent, c.Answer.CreatedAt = messageID(n+1), at(n)
	return c
}

// applyAny commits a batch whose changes may find their session gone.
func applyAny(t *testing.T, s Store, batch ...mooring.Change) {
	t.Helper()
	if err := s.Apply(t.Context(), batch); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

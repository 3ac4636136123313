package identify

import (
	"context"
	"slices"

	"mooring"
	"mooring/internal/wire"
)

// maxResets is how many sessions before a chat's current one are looked into for what its client still sends.
const maxResets = 8

// Before gives the position behind the messages that a client still sends from before its chat was reset, where it no longer
// sends the command itself; the Skip of the request where there are none.
func (e *Engine) Before(ctx context.Context, f *Finding, q Request) (int, error) {
	if f.New || f.Known.ResetOf == "" && len(f.Known.Cut) == 0 {
		return q.Skip, nil
	}
	a, err := e.talkOf(f, q)
	if err != nil {
		return 0, err
	}
	a.session = &f.Known
	answers := a.answers()
	if len(answers) == 0 || !f.Known.Seen.Zero() && a.chain[answers[0]] == f.Known.Seen {
		return q.Skip, nil
	}
	for i, d := range a.chain {
		if string(d[:]) == string(f.Known.Cut) {
			return a.talk[i] + 1, nil
		}
	}
	l, err := a.look(ctx, nil)
	if err != nil {
		return q.Skip, err
	}
	if r := l.of(f.Known.ID); r != nil && r.whole {
		return q.Skip, nil
	}
	return a.past(ctx, f.Known.ResetOf, q.Skip)
}

// past follows the talk along what was said in the sessions before, the oldest first, as long as it says the same; a single message
// between may be one that its client has changed. The last message is what is new.
func (a *alignment) past(ctx context.Context, last mooring.SessionID, skip int) (int, error) {
	said, err := a.said(ctx, last)
	if err != nil {
		return 0, err
	}
	behind, at, missed := skip, 0, false
	for i := 0; i < len(a.talk)-1; i++ {
		d := a.digests[a.talk[i]]
		j := slices.IndexFunc(said[at:], func(old []byte) bool { return string(old) == string(d[:]) })
		if j < 0 && missed {
			break
		}
		if missed = j < 0; missed {
			continue
		}
		at += j + 1
		behind = a.talk[i] + 1
	}
	return behind, nil
}

// said gives the digests of the messages of the sessions before, the oldest first.
func (a *alignment) said(ctx context.Context, last mooring.SessionID) ([][]byte, error) {
	var out [][]byte // the newest first
	for n := 0; last != "" && n < maxResets; n++ {
		k, err := a.engine.session(ctx, a.tenant, last)
		if mooring.KindOf(err) == mooring.KindNotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		if last = k.ResetOf; k.Tip == "" {
			continue
		}
		trail, err := a.engine.Store.Around(ctx, a.tenant, []mooring.MessageID{k.Tip}, trailLength, 0)
		if err != nil {
			return nil, err
		}
		for i := range trail {
			out = append(out, trail[i].Digest)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Reset opens a fresh session in the place of the one that a chat was found on. The chat keeps its id where it has one; a
// client that sent none is given one. q holds the request as it goes on, without what was said before.
func (e *Engine) Reset(old *Finding, q Request) *Finding {
	f := &Finding{New: true, Kind: mooring.KindMain, Identity: old.Identity, Evidence: old.Evidence}
	key := e.NewKey()
	if old.Sent || old.learned {
		f.ClientID, f.Sent, f.Names = old.ClientID, old.Sent, old.named()
		f.Aliases, f.learned = f.Names, old.learned
		f.Reset = &mooring.Reset{Key: key, Alias: mooring.Alias{Class: mooring.ClassAny, Value: key}}
		key = old.keyOf()
	} else {
		f.ClientID = key
		f.Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: key}}
		f.Names = f.Aliases
	}
	f.Known.Session = e.fresh(q, key)
	f.Known.Client, f.Known.Project = old.Known.Client, old.Known.Project
	f.Known.Relation = mooring.RelationReset
	if !old.New {
		f.Known.ResetOf, f.Known.Cut = old.Known.ID, old.held()
	}
	return f
}

// keyOf is the key of the chat: the id that the client sent, as a session of it is named.
func (f *Finding) keyOf() string {
	if f.New || f.learned {
		return f.Known.Key
	}
	return f.key
}

// named are the names of the chat. One that a learned header names was told its key, and may go on with that.
func (f *Finding) named() []mooring.Alias {
	if f.New || !f.learned {
		return f.Names
	}
	generic := signal{scope: scopeGeneric}
	return append(slices.Clone(f.Names), generic.alias(f.Known.Key))
}

// held digests the conversation as the client held it: as it sends it, else up to the last answer that it was given.
func (f *Finding) held() []byte {
	var d wire.Digest
	switch {
	case f.talk != nil && len(f.talk.chain) > 0:
		d = f.talk.chain[len(f.talk.chain)-1]
	case !f.Known.Seen.Zero():
		d = f.Known.Seen
	default:
		return nil
	}
	return d[:]
}

// Again is the finding of a request that is sent again for the turn that failed in a session.
func Again(f *Finding, k Known) *Finding {
	const how = "content:retry"
	kind := kindOfSession(k.Session)
	if f.Kind == mooring.KindSide || f.Kind == mooring.KindCompaction {
		kind = f.Kind
	}
	id := k.Key
	if f.Sent {
		id = f.ClientID
	}
	return &Finding{
		Known: k, ClientID: id, Sent: f.Sent, Kind: kind, Identity: how, Origin: f.Origin, talk: f.talk, sums: f.sums,
		Evidence: append(f.Evidence, mooring.Evidence{Signal: how, Use: "decided", Why: "it is the request, sent again, whose answer failed or broke off in this session"}),
	}
}

// Retried places a request that is sent again: below its question, which is stored.
func (e *Engine) Retried(f *Finding, q Request, question mooring.MessageID) (*Place, error) {
	a, err := e.talkOf(f, q)
	if err != nil {
		return nil, err
	}
	p := a.place()
	p.Parent, p.Sums = question, f.sums
	return p, nil
}

// Known gives a session as it stands.
func (e *Engine) Known(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (Known, error) {
	return e.session(ctx, t, id)
}

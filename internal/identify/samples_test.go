package identify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// sample is a request as a client program sends it, with the truth about it; testdata/clients/README.md says more.
type sample struct {
	Name    string            `json:"name"`
	Headers map[string]string `json:"headers"`
	Path    string            `json:"path"`
	Body    json.RawMessage   `json:"body"`
	Truth   struct {
		Session string       `json:"session"`
		Parent  string       `json:"parent"`
		Kind    mooring.Kind `json:"kind"`
	} `json:"truth"`
	Expect struct {
		Key     *string `json:"session_key"`
		ByIDs   bool    `json:"distinguishable_by_id"`
		Parents *string `json:"parent_key"`
	} `json:"expect"`

	file string
}

// full is the name of a sample over all files.
func (s *sample) full() string { return s.file + "/" + s.Name }

// samples gives the files, the requests of each in the order in which its client sends them.
func samples(tb testing.TB) map[string][]sample {
	tb.Helper()
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no samples: %v", err)
	}
	out := map[string][]sample{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		var list []sample
		if err := json.Unmarshal(data, &list); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		for i := range list {
			list[i].file = name
		}
		out[name] = list
	}
	return out
}

// request is the sample as a route would hand it over. A path that is not served is read for what names its session.
func (s *sample) request(tb testing.TB, tenant mooring.Tenant) identify.Request {
	tb.Helper()
	q := identify.Request{Tenant: tenant, Header: http.Header{}, Content: true}
	for name, value := range s.Headers {
		q.Header.Set(name, value)
	}
	path, _, _ := strings.Cut(s.Path, "?")
	protocol := mooring.Protocol("")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		protocol = mooring.Chat
	case strings.HasSuffix(path, "/messages/count_tokens"):
		protocol, q.Kind = mooring.Messages, mooring.KindSide
	case strings.HasSuffix(path, "/messages"):
		protocol = mooring.Messages
	case strings.HasSuffix(path, "/responses/compact"):
		protocol, q.Kind = mooring.Responses, mooring.KindCompaction
	case strings.HasSuffix(path, "/responses"):
		protocol = mooring.Responses
	}
	read := func(body []byte) (*wire.Request, error) { return wire.Glance(body, wire.Limits{}) }
	if protocol != "" {
		read = func(body []byte) (*wire.Request, error) { return wire.Decode(protocol, body, wire.Limits{}) }
	}
	w, err := read(s.Body)
	if err != nil {
		tb.Fatalf("%s: %v", s.full(), err)
	}
	if protocol == "" {
		w.Protocol, q.Content = mooring.Chat, false
	}
	q.Wire, q.Messages = w, w.Messages
	return q
}

// answerOf is what every sample is answered with; the clients send it back.
const answerOf = "It starts the server."

// stand takes a sample through a whole turn, and records its answer under the id by which a later one speaks of it.
func (h *house) stand(s *sample, tenant mooring.Tenant, object string) *identify.Finding {
	h.tb.Helper()
	ctx, q := h.tb.Context(), s.request(h.tb, tenant)
	f, err := h.engine.Resolve(ctx, q)
	if err != nil {
		h.tb.Fatalf("%s: %v", s.full(), err)
	}
	turn, p := h.began(q, f)
	h.reply(&turn, p, object)
	return f
}

// began writes down what was found for a request.
func (h *house) began(q identify.Request, f *identify.Finding) (mooring.Turn, *identify.Place) {
	h.tb.Helper()
	p, err := h.engine.Locate(h.tb.Context(), f, q)
	if err != nil {
		h.tb.Fatal(err)
	}
	turn := mooring.Turn{
		Tenant: q.Tenant, ID: mooring.TurnID("trn_" + h.next()), Session: f.Known.ID, Kind: f.Kind, Protocol: q.Wire.Protocol, State: mooring.Running,
		View: p.View, Question: p.Parent, StartedAt: time.Unix(int64(h.n), 0),
	}
	begin := &mooring.Begin{New: f.New, Aliases: f.Aliases, Attach: f.Attach}
	for _, at := range p.New {
		m := h.message(&turn, q.Messages[at].Role, q.Messages[at].Raw, p.Digests[at])
		m.Protocol = q.Wire.Protocol
		if len(begin.Messages) == 0 {
			m.Marks = p.Opening
		}
		begin.Messages = append(begin.Messages, m)
	}
	known := f.Known.Session
	known.CreatedAt, known.UpdatedAt = turn.StartedAt, turn.StartedAt
	if f.Kind != mooring.KindSide {
		known.Tip, known.TipTurn = turn.Question, turn.ID
	}
	begin.Session, begin.Turn = known, turn
	h.commit(begin)
	names := f.Aliases
	if f.New {
		names = f.Names
	}
	h.engine.Learn(identify.Known{Session: known}, f, names)
	return turn, p
}

// reply ends a turn with an answer; one beside the conversation leaves none in it.
func (h *house) reply(turn *mooring.Turn, p *identify.Place, object string) {
	h.tb.Helper()
	turn.State, turn.EndedAt = mooring.Completed, turn.StartedAt
	if turn.Kind == mooring.KindSide {
		h.commit(&mooring.End{Turn: *turn})
		return
	}
	raw := fmt.Appendf(nil, `{"role":"assistant","content":%q}`, answerOf)
	if turn.Protocol == mooring.Responses {
		raw = fmt.Appendf(nil, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, answerOf)
	}
	h.replied(turn, p, raw, object)
}

// replied ends a turn with an answer, under the id by which a later request speaks of it.
func (h *house) replied(turn *mooring.Turn, p *identify.Place, raw []byte, object string) {
	h.tb.Helper()
	turn.State, turn.EndedAt = mooring.Completed, turn.StartedAt
	a, err := h.engine.Answer(turn.Tenant, turn.Protocol, p, nil, raw)
	if err != nil {
		h.tb.Fatal(err)
	}
	m := h.message(turn, "assistant", raw, a.Self)
	m.Seen, m.Protocol, m.Marks = a.Seen[:], turn.Protocol, a.Marks
	turn.Answer = m.ID
	end := &mooring.End{Turn: *turn, Answer: &m}
	if object != "" {
		end.Objects = []mooring.Object{{Tenant: turn.Tenant, ID: object, Session: turn.Session, Message: m.ID}}
	}
	h.commit(end)
	h.engine.Ended(turn, a.Seen, m.Marks)
}

// spokenOf is the id of an answer of this session that a later sample follows.
func spokenOf(list []sample, at int) string {
	for _, later := range list[at+1:] {
		var body struct {
			Previous string `json:"previous_response_id"`
		}
		if json.Unmarshal(later.Body, &body) == nil && body.Previous != "" && later.Truth.Session == list[at].Truth.Session {
			return body.Previous
		}
	}
	return ""
}

// wordsOnly are samples whose kind no id, no header and no known phrase shows: that is for the content to say.
func wordsOnly() map[string]string {
	const (
		summing = "it asks for a summary in words of its own"
		titling = "it asks for a title in words of its own, and its program need not offer tools"
		below   = "the request is like any other of its program, under an id of its own or its parent's"
		probing = "it is an ordinary question, asked once"
	)
	return map[string]string{
		"gemini-cli/compaction": summing,
		"openhands/condenser":   summing, "pi/compaction": summing, "qwen-code/compaction": summing,
		"librechat/title-side-call": titling,
		"amp/sub-agent":             below, "claude-code-legacy/sub-agent": below, "crush/sub-agent": below, "gemini-cli/sub-agent": below, "openhands/sub-agent": below,
		"qwen-code/sub-agent": below, "roo-code/sub-task": below,
		"goose/model-probe-without-session": probing, "qwen-code/side-call": probing, "roo-code/openai-native-without-task": probing,
	}
}

// joined are true sessions that their ids do not keep apart here: a short id is the same session under all generic names.
func joined(name string) bool { return name == "hermes/S1" || name == "hermes/S4" }

func TestSamplesOfClients(t *testing.T) {
	t.Parallel()
	all := samples(t)
	n := 0
	for _, file := range slices.Sorted(maps.Keys(all)) {
		n += len(all[file])
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			r := newRoll()
			for i := range all[file] {
				s := &all[file][i]
				f := h.stand(s, "acme", spokenOf(all[file], i))
				r.judge(t, s, f)
			}
		})
	}
	if n != 162 {
		t.Errorf("there are %d samples, want 162", n)
	}
}

// roll keeps which found session stands for which true one.
type roll struct {
	found map[string]mooring.SessionID // of a true session of a file, by ids
	truth map[mooring.SessionID]string
}

func newRoll() *roll {
	return &roll{found: map[string]mooring.SessionID{}, truth: map[mooring.SessionID]string{}}
}

// judge compares what was found of a sample with the truth, as far as ids can tell.
func (r *roll) judge(t *testing.T, s *sample, f *identify.Finding) {
	t.Helper()
	name, got := s.file+"/"+s.Truth.Session, f.Known.ID
	_, words := wordsOnly()[s.full()]
	if f.Kind != s.Truth.Kind && !words {
		t.Errorf("%s: kind = %s, want %s", s.full(), f.Kind, s.Truth.Kind)
	}
	if f.Kind == s.Truth.Kind && words {
		t.Errorf("%s is found to be of kind %s now: take it off the list", s.full(), f.Kind)
	}
	truth, taken := r.truth[got]
	switch {
	case !s.Expect.ByIDs && s.Expect.Key == nil && taken && truth != name:
		t.Errorf("%s: joins %s, want %s or a session of its own", s.full(), truth, name)
	case !s.Expect.ByIDs:
		return
	case taken && truth != name && joined(name) && joined(truth):
		return
	case taken && truth != name:
		t.Errorf("%s: joins %s, want %s", s.full(), truth, name)
	}
	if before, ok := r.found[name]; ok && before != got {
		t.Errorf("%s: %s, want %s as before", s.full(), got, before)
	}
	r.found[name], r.truth[got] = got, name
	if s.Expect.Parents != nil {
		if want := r.found[s.file+"/"+s.Truth.Parent]; f.Known.Parent != want {
			t.Errorf("%s: parent = %q, want %q", s.full(), f.Known.Parent, want)
		}
	} else if s.Truth.Parent == "" && f.Known.Parent != "" && f.Known.Relation != mooring.RelationFork {
		t.Errorf("%s: parent = %q, want none", s.full(), f.Known.Parent)
	}
}

func TestSamplesOfOneClientUnderTwoTenants(t *testing.T) {
	t.Parallel()
	for file, list := range samples(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			tenants := map[mooring.SessionID]mooring.Tenant{}
			for i := range list {
				for _, tenant := range []mooring.Tenant{"acme", "globex"} {
					f := h.stand(&list[i], tenant, "")
					if before, ok := tenants[f.Known.ID]; ok && before != tenant {
						t.Errorf("%s: a session of %s holds a request of %s", list[i].full(), before, tenant)
					}
					if above, ok := tenants[f.Known.Parent]; ok && above != tenant {
						t.Errorf("%s: a session of %s is above one of %s", list[i].full(), above, tenant)
					}
					tenants[f.Known.ID] = tenant
				}
			}
		})
	}
}

func TestSamplesOfTwoClientsMixed(t *testing.T) {
	t.Parallel()
	all := samples(t)
	names := slices.Sorted(maps.Keys(all))
	pairs := 0
	for at, one := range names {
		other := names[(at+7)%len(names)]
		if share(all[one], all[other]) {
			continue
		}
		pairs++
		t.Run(one+" and "+other, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			rolls := map[string]*roll{one: newRoll(), other: newRoll()}
			owner := map[mooring.SessionID]string{}
			for i := range max(len(all[one]), len(all[other])) {
				for _, file := range []string{one, other} {
					if i >= len(all[file]) {
						continue
					}
					s := &all[file][i]
					f := h.stand(s, "acme", spokenOf(all[file], i))
					if !s.Expect.ByIDs || s.Expect.Key == nil {
						continue // its words alone are those of many
					}
					rolls[file].judge(t, s, f)
					if before, ok := owner[f.Known.ID]; ok && before != file {
						t.Errorf("%s: its session is one of %s", s.full(), before)
					}
					owner[f.Known.ID] = file
				}
			}
		})
	}
	if pairs < 20 {
		t.Errorf("only %d pairs were mixed", pairs)
	}
}

// share says whether two files use one invented id.
func share(one, other []sample) bool {
	ids := map[string]bool{}
	for _, list := range [][]sample{one, other} {
		for i := range list {
			if key := list[i].Expect.Key; key != nil {
				id, _, _ := strings.Cut(*key, "#")
				if &list[0] == &other[0] && ids[id] {
					return true
				}
				if &list[0] == &one[0] {
					ids[id] = true
				}
			}
		}
	}
	return false
}

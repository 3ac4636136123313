package route_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/route"
)

// of makes candidates of an alias: each "upstream/model".
func of(alias string, spots ...[2]string) []route.Candidate {
	out := make([]route.Candidate, len(spots))
	for i, s := range spots {
		out[i] = route.Candidate{Name: mooring.UpstreamName(s[0]), Weight: 1, Up: true, Alias: alias, Model: s[1]}
	}
	return out
}

func spots(all []route.Candidate) [][2]string {
	out := make([][2]string, len(all))
	for i, c := range all {
		out[i] = [2]string{string(c.Name), c.Model}
	}
	return out
}

// aliasPin is a pin that was made under an alias.
func aliasPin(set, upstream, model string, used time.Time) mooring.Pin {
	p := pin(set, upstream, used)
	p.Model = model
	return p
}

func TestSetKeyOfAnAlias(t *testing.T) {
	t.Parallel()
	all := of("fast", [2]string{"b", "m-1"}, [2]string{"a", "m-1"}, [2]string{"a", "m-2"})
	if got := route.SetKey(all); got != "fast:a,b" {
		t.Errorf("SetKey = %q, want its name and the upstreams, each once", got)
	}
	if got := route.SetKey(of("a:b", [2]string{"u", "m"})); got != "a:b:u" || !route.Within(got, route.Candidate{Name: "u", Alias: "a:b"}) {
		t.Errorf("SetKey = %q, which does not name its own candidate", got)
	}
	for rule, tt := range map[string]struct {
		key  string
		c    route.Candidate
		want bool
	}{
		"one of the set":                {"a,b", route.Candidate{Name: "b"}, true},
		"one that is not":               {"a,b", route.Candidate{Name: "c"}, false},
		"a part of a name":              {"ab,c", route.Candidate{Name: "a"}, false},
		"an alias is not its upstreams": {"fast:a,b", route.Candidate{Name: "a"}, false},
		"nor the other way round":       {"a,b", route.Candidate{Name: "a", Alias: "fast"}, false},
		"one of an alias":               {"fast:a,b", route.Candidate{Name: "a", Alias: "fast"}, true},
	} {
		if got := route.Within(tt.key, tt.c); got != tt.want {
			t.Errorf("%s: Within(%q, %+v) = %v", rule, tt.key, tt.c, got)
		}
	}
}

func TestRanked(t *testing.T) {
	t.Parallel()
	all := of("fast", [2]string{"a", "m-1"}, [2]string{"b", "m-1"}, [2]string{"c", "m-2"}, [2]string{"a", "m-2"})
	for range 3 {
		got := spots(route.Ranked(route.RoundRobin, "s", 1, all))
		if diff := cmp.Diff([][2]string{{"b", "m-1"}, {"a", "m-1"}, {"a", "m-2"}, {"c", "m-2"}}, got); diff != "" {
			t.Errorf("the first model first, within it the policy (-want +got):\n%s", diff)
		}
	}
	all[0].Up, all[1].Full = false, true
	got := spots(route.Ranked(route.RoundRobin, "s", 0, all))
	if diff := cmp.Diff([][2]string{{"c", "m-2"}, {"a", "m-2"}, {"b", "m-1"}, {"a", "m-1"}}, got); diff != "" {
		t.Errorf("who takes new sessions before who does not (-want +got):\n%s", diff)
	}
}

func TestFindUnderAnAlias(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := of("fast", [2]string{"a", "m-1"}, [2]string{"b", "m-2"})
	for _, tt := range []struct {
		rule string
		pins []mooring.Pin
		all  []route.Candidate
		want mooring.Spot
	}{
		{"the pin of the alias", []mooring.Pin{aliasPin("fast:a,b", "b", "m-2", now)}, all, mooring.Spot{Upstream: "b", Model: "m-2"}},
		{"an upstream that joins moves nobody", []mooring.Pin{aliasPin("fast:b", "b", "m-2", now)}, all, mooring.Spot{Upstream: "b", Model: "m-2"}},
		{"a model that left the alias is no home", []mooring.Pin{aliasPin("fast:a,b", "b", "m-9", now)}, all, mooring.Spot{}},
		{"another alias is another thing", []mooring.Pin{aliasPin("slow:a,b", "b", "m-2", now)}, all, mooring.Spot{}},
		{"who was with the first model's upstream stays there", []mooring.Pin{pin("a", "a", now)}, all, mooring.Spot{Upstream: "a", Model: "m-1"}},
		{"who was elsewhere gets the first model", []mooring.Pin{pin("b", "b", now)}, all, mooring.Spot{}},
		{"its own pin beats a newer one", []mooring.Pin{aliasPin("fast:a,b", "b", "m-2", now.Add(-time.Minute)), pin("a", "a", now)}, all, mooring.Spot{Upstream: "b", Model: "m-2"}},
		{"who names a model stays where the alias led", []mooring.Pin{aliasPin("fast:a,b", "b", "m-2", now)}, candidates("b", "c"), mooring.Spot{Upstream: "b", Model: "m-2"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			p := newPicker(&berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": tt.pins}})
			found, err := p.Find(t.Context(), "acme", "ses_1", tt.all)
			if err != nil {
				t.Fatal(err)
			}
			var got mooring.Spot
			if found != nil {
				got = found.Spot()
			}
			if got != tt.want {
				t.Errorf("Find = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestFormer(t *testing.T) {
	t.Parallel()
	now := time.Now()
	claim := pin("a,b", "b", now)
	claim.Bound = false
	for _, tt := range []struct {
		rule string
		pins []mooring.Pin
		all  []route.Candidate
		want mooring.UpstreamName
	}{
		{"one that is gone from the set", []mooring.Pin{pin("a,b,gone", "gone", now)}, candidates("a", "b"), "gone"},
		{"the newest of several", []mooring.Pin{pin("a,gone", "gone", now.Add(-time.Minute)), pin("a,b,left", "left", now)}, candidates("a", "b"), "left"},
		{"not one of another model", []mooring.Pin{pin("gone,x", "gone", now)}, candidates("a", "b"), ""},
		{"not one that is there and serves another model", []mooring.Pin{pin("a,there", "there", now)}, candidates("a", "b"), ""},
		{"not one that idled out", []mooring.Pin{pin("a,gone", "gone", now.Add(-2*time.Hour))}, candidates("a"), ""},
		{"not a claim", []mooring.Pin{claim}, candidates("a"), ""},
		{"not one that holds", []mooring.Pin{pin("a,b", "b", now)}, candidates("a", "b"), ""},
		{"a model that an alias lost", []mooring.Pin{aliasPin("fast:a", "a", "m-0", now)}, of("fast", [2]string{"a", "m-1"}), "a"},
		{"nothing", nil, candidates("a"), ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			p := newPicker(&berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": tt.pins}})
			found, err := p.Former(t.Context(), "acme", "ses_1", tt.all, func(u mooring.UpstreamName) bool { return u == "there" || u == "a" })
			if err != nil {
				t.Fatal(err)
			}
			var got mooring.UpstreamName
			if found != nil {
				got = found.Upstream
			}
			if got != tt.want {
				t.Errorf("Former = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMade(t *testing.T) {
	t.Parallel()
	b := &berths{answers: map[mooring.MessageID]mooring.Turn{"msg_1": {ID: "trn_1", Upstream: "a", Account: "one", Model: "m"}}}
	p := newPicker(b)
	want := mooring.Spot{Upstream: "a", Account: "one", Model: "m"}
	for range 2 {
		if got, err := p.Made(t.Context(), "acme", "ses_1", "msg_1"); got != want || err != nil {
			t.Errorf("Made = %+v, %v; want %+v", got, err, want)
		}
	}
	if got, err := p.Made(t.Context(), "acme", "ses_1", "msg_9"); got != (mooring.Spot{}) || err != nil {
		t.Errorf("Made = %+v, %v for an answer that nobody knows", got, err)
	}
	if got, ok := p.Remembered("acme", "ses_1", "msg_1"); got != want || !ok || b.reads != 2 {
		t.Errorf("Remembered = %+v, %v after %d reads", got, ok, b.reads)
	}
	if _, ok := p.Remembered("globex", "ses_1", "msg_1"); ok {
		t.Error("another tenant remembers it")
	}
	p.KeepMade("acme", "ses_1", "msg_2", mooring.Spot{Upstream: "b"})
	if _, ok := p.Remembered("acme", "ses_1", "msg_1"); ok {
		t.Error("an older answer is remembered")
	}
}

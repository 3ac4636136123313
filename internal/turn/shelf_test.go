package turn_test

import (
	"fmt"
	"net/http"
	"testing"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstream"
)

// passed sends a request of a route that makes no turn and says where it went.
func (h *house) passed(req turn.Pass) mooring.UpstreamName {
	h.t.Helper()
	s := &sink{}
	req.Protocol, req.Header = mooring.Chat, http.Header{}
	if err := h.Pass(h.t.Context(), req, s); err != nil {
		h.t.Fatal(err)
	}
	return s.about.Upstream
}

// kept is a turn's request that names a file.
func (h *house) kept(id, text string) turn.Request {
	h.t.Helper()
	body := fmt.Sprintf(`{"model":"fake-1","input":[{"role":"user","content":[{"type":"input_file", "file_id" : "file-1"},{"type":"input_text","text":%q}]}]}`, text)
	r := h.request(mooring.Responses, responsesPath, body, "X-Session-Id", id)
	return r
}

func TestWhatIsKeptForATenantIsAtOneUpstream(t *testing.T) {
	t.Parallel()
	upload := turn.Pass{Caller: mooring.Caller{Tenant: "acme"}, Method: http.MethodPost, Path: "/v1/files", Body: bytes(`{}`), Keeps: true}
	made := func(t *testing.T) (h *house, at, other mooring.UpstreamName) {
		t.Helper()
		h, a, b := twoServers(t, moving())
		a.body, b.body = response("resp_a"), response("resp_b")
		at, other = h.passed(upload), "b"
		if at == "b" {
			other = "a"
		}
		return h, at, other
	}
	t.Run("whatever the policy", func(t *testing.T) {
		t.Parallel()
		h, at, _ := made(t)
		for range 2 {
			if got := h.passed(upload); got != at {
				t.Errorf("at %s, then at %s", at, got)
			}
			if got := h.passed(turn.Pass{Caller: upload.Caller, Method: http.MethodGet, Path: "/v1/files/file-1", Body: bytes(""), Keeps: true}); got != at {
				t.Errorf("made at %s, looked for at %s", at, got)
			}
		}
		tenants := map[mooring.UpstreamName]bool{}
		for i := range 20 {
			tenants[h.passed(turn.Pass{Caller: mooring.Caller{Tenant: mooring.Tenant(fmt.Sprint("t", i))}, Path: "/v1/files", Body: bytes(`{}`), Keeps: true})] = true
		}
		if len(tenants) != 2 {
			t.Error("all tenants keep what they have at one upstream")
		}
	})
	t.Run("a turn that names it goes there, and its session follows", func(t *testing.T) {
		t.Parallel()
		h, at, other := made(t)
		for i := range 3 {
			h.want(h.kept(fmt.Sprint("new", i), "read"), gone{at, "", mooring.PinNew, mooring.WhyOrigin})
		}
		for i := range 2 { // one of them is at the other upstream
			h.want(h.request(mooring.Responses, responsesPath, `{"model":"fake-1","input":"hi"}`, "X-Session-Id", fmt.Sprint("s", i)),
				gone{[]mooring.UpstreamName{"a", "b"}[i], "", mooring.PinNew, mooring.WhyPolicy})
		}
		moves, stays := "s0", "s1"
		if other == "b" {
			moves, stays = stays, moves
		}
		h.want(h.kept(moves, "read"), gone{at, "", mooring.PinMoved, mooring.WhyOrigin})
		for _, id := range []string{moves, stays} {
			h.want(h.kept(id, "read on"), gone{at, "", mooring.PinHit, mooring.WhyPin})
		}
	})
	t.Run("a conversation too, but not one that has a name", func(t *testing.T) {
		t.Parallel()
		h, at, _ := made(t)
		for i := range 2 {
			body := fmt.Sprintf(`{"model":"fake-1","input":"hi","conversation":"conv_%d"}`, i)
			h.want(h.request(mooring.Responses, responsesPath, body), gone{at, "", mooring.PinNew, mooring.WhyOrigin})
			body = fmt.Sprintf(`{"model":"fake-1","input":"hi","conversation":"my talk %d"}`, i)
			if g, _, err := h.went(h.request(mooring.Responses, responsesPath, body)); err != nil || g.Why != mooring.WhyPolicy {
				t.Errorf("%+v, %v; want the policy's choice", g, err)
			}
		}
	})
	t.Run("a full one is waited for", func(t *testing.T) {
		t.Parallel()
		h, a, b := narrow(t)
		a.body, b.body = response("resp_a"), response("resp_b")
		at := h.passed(upload)
		h.waitsAt(at, taken(h.Fleet.Get(at)), h.kept("s", "read"), gone{at, "", mooring.PinNew, mooring.WhyOrigin})
	})
	t.Run("where clients have keys it is at the one that opens the route", func(t *testing.T) {
		t.Parallel()
		a, b := &server{answer: well, body: response("resp_a")}, &server{answer: well, body: response("resp_b")}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		h := newHouse(t, moving(), sa, sb)
		with := func(req turn.Request) turn.Request {
			req.Caller.Key = "alice"
			return req
		}
		policy := map[mooring.UpstreamName]bool{}
		for i := range 2 {
			g, _, err := h.went(with(h.kept(fmt.Sprint("closed", i), "read")))
			if policy[g.Upstream] = true; err != nil || g.Why != mooring.WhyPolicy {
				t.Errorf("%+v, %v; want the policy's choice", g, err)
			}
		}
		if len(policy) != 2 {
			t.Errorf("the policy chose %v", policy)
		}
		for _, open := range []*upstream.Spec{&sa, &sb} {
			open.Passthrough = []string{"/v1/files"}
			h.configure(sa, sb)
			for i := range 2 {
				h.want(with(h.kept(fmt.Sprint("open ", open.Name, i), "read")), gone{open.Name, "", mooring.PinNew, mooring.WhyOrigin})
			}
			open.Passthrough = nil
		}
	})
}

// Requests that make no turn go on to another upstream as turns do.
func TestFailoverOnRoutesThatMakeNoTurn(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		change func(specs []upstream.Spec, req *turn.Pass)
		first  func() (int, http.Header, error) // what the upstream says that is asked first
		status int
	}{
		"where the first one fails":       {nil, failing, http.StatusOK},
		"where it is away":                {nil, func() (int, http.Header, error) { return 0, nil, refused() }, http.StatusOK},
		"not with what is listed nowhere": {nil, func() (int, http.Header, error) { return http.StatusTeapot, nil, nil }, http.StatusTeapot},
		"with a client's credential that goes nowhere": {
			func(_ []upstream.Spec, req *turn.Pass) { req.Caller.Own.Authorization = "Bearer sk-own" }, failing, http.StatusOK,
		},
		"not to another origin with a client's credential": {
			func(specs []upstream.Spec, req *turn.Pass) {
				req.Caller.Own.Authorization = "Bearer sk-own"
				for i := range specs {
					specs[i].KeyMode = upstream.KeyClient
				}
			}, failing, http.StatusServiceUnavailable,
		},
		"not with what only one keeps": {func(_ []upstream.Spec, req *turn.Pass) { req.Keeps = true }, failing, http.StatusServiceUnavailable},
		"not where the rules say so": {
			func(specs []upstream.Spec, _ *turn.Pass) { specs[0].Failover, specs[1].Failover = "fail", "fail" }, failing, http.StatusServiceUnavailable,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			var n int
			answer := func() (int, http.Header, error) {
				if n++; n == 1 {
					return tt.first()
				}
				return well()
			}
			a, b := &server{answer: answer}, &server{answer: answer}
			specs := []upstream.Spec{a.spec("a", "next"), b.spec("b", "next")}
			specs[0].URL, specs[1].URL = "http://a.invalid", "http://b.invalid"
			req := turn.Pass{
				Caller: mooring.Caller{Tenant: "acme"}, Protocol: mooring.Chat, Method: http.MethodPost, Path: "/v1/embeddings", Header: http.Header{}, Body: bytes(`{}`), Model: "fake-1",
			}
			if tt.change != nil {
				tt.change(specs, &req)
			}
			h, s := newHouse(t, moving(), specs...), &sink{}
			if err := h.Pass(t.Context(), req, s); err != nil || s.head.Status != tt.status {
				t.Errorf("status %d, %v; want %d", s.head.Status, err, tt.status)
			}
		})
	}
}

package turn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/route"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// Pass is a request that makes no turn: it goes to an upstream and its answer back, and nothing is written down.
type Pass struct {
	Caller   mooring.Caller
	Protocol mooring.Protocol // whose credential and errors it has: Chat or Messages
	Method   string
	Path     string // escaped
	Query    string
	Header   http.Header
	Body     forward.Body              // nil for none
	Model    string                    // empty where it names none
	Named    func(model string) []byte // gives the body with another model in the place of its own; nil where it cannot be put there
	Objects  []wire.Field              // ids of what an upstream keeps, in the path or in the body
	Keeps    bool                      // the route is about what an upstream keeps
	Walled   bool                      // tenants share that: it is served only where the configuration opens it
}

// Pass takes a request to an upstream and its answer back. An error means that nothing has been written to the sink.
func (r *Runner) Pass(ctx context.Context, req Pass, sink Sink) error {
	to, owner, err := r.passTo(ctx, &req)
	if err != nil {
		return err
	}
	on := r.Rules().FailoverOn
	var lost error
	for i, stop := range to {
		u := stop.Upstream
		goesOn := i < len(to)-1 && u.Failover == failoverNext
		sink.About(About{Upstream: u.Name})
		call := req.call(u, r.passAccount(u, &req, owner), stop.model)
		if !goesOn || !on.Unreachable {
			call.Terms = r.patience(req.Caller.Tenant)
		}
		res, err := r.Forward.Open(ctx, call)
		switch {
		case err == nil && goesOn && on.lists(res.Status):
			res.Close()
			continue
		case err == nil:
			defer res.Close()
			return passAnswer(res, sink)
		}
		lost = err
		if !goesOn || !on.Unreachable || errors.Is(err, context.Canceled) || errors.Is(err, forward.ErrUnusable) {
			break
		}
	}
	return lost
}

// ways are the upstreams that a request may go on to, the first one first: only that where it is about what that one keeps.
func (p *Pass) ways(to []stop) []stop {
	if p.Model == "" || p.Keeps || len(p.Objects) > 0 {
		return to[:1]
	}
	return slices.DeleteFunc(to, func(s stop) bool { return !carries(p.Caller, to[0].Upstream, s.Upstream) })
}

func (p *Pass) call(u *upstream.Upstream, account mooring.AccountName, model string) forward.Call {
	c := forward.Call{
		Upstream: u, Account: u.Account(account), Protocol: p.Protocol, Method: p.Method, Path: p.Path, Query: p.Query, Header: p.Header, Own: p.Caller.Own,
	}
	switch {
	case p.Body != nil && model != "":
		c.Body = rewritten(p.Named(model))
	case p.Body != nil:
		c.Body = p.Body
	}
	return c
}

func passAnswer(res *forward.Response, sink Sink) error {
	whole, body, err := res.Brief()
	if err != nil {
		return err
	}
	if whole {
		if sink.Head(Head{Status: res.Status, Header: res.Header, Length: res.Length(body)}) == nil {
			_ = sink.Write(body, nil)
		}
		return nil
	}
	if gone := sink.Head(Head{Status: res.Status, Header: res.Header, Length: -1}); gone == nil {
		if err := res.Pass(sink); err != nil {
			return err
		}
		sink.Trailer(res.Trailer())
	}
	return nil
}

// stop is an upstream that a request may be passed to.
type stop struct {
	*upstream.Upstream
	model string // asked for in the place of an alias; empty for none
}

// passTo gives the upstreams to be asked, the first one first. What one tenant keeps is at one upstream, as long as that is well, under
// the account that made it.
func (r *Runner) passTo(ctx context.Context, req *Pass) ([]stop, mooring.AccountName, error) {
	owner, err := r.owner(ctx, req)
	if err != nil {
		return nil, "", err
	}
	all, choices := r.passable(req)
	left := func(u *upstream.Upstream) bool {
		return (owner.Upstream == "" || u.Name == owner.Upstream) && (!req.Walled || opens(u, req.Path))
	}
	out := make([]stop, 0, len(all))
	for _, c := range r.passOrder(req, choices) {
		at := slices.IndexFunc(choices, func(o route.Candidate) bool { return o.Name == c.Name && o.Model == c.Model })
		if left(all[at]) {
			out = append(out, stop{all[at], c.Model})
		}
	}
	switch {
	case len(out) > 0:
	case req.Model != "" && !req.Walled:
		return nil, "", noModel(req.Model)
	default:
		return nil, "", mooring.Errorf(mooring.CodeNotFound, "There is nothing at this path; an operator can open it with passthrough in the configuration of an upstream.")
	}
	return req.ways(out), owner.Account, nil
}

func (r *Runner) passOrder(req *Pass, choices []route.Candidate) []route.Candidate {
	if req.Keeps || len(req.Objects) > 0 {
		return shelved(req.Caller.Tenant, choices)
	}
	return r.Route.Order(string(req.Caller.Tenant), choices)
}

// passable are the upstreams that understand a request: of those that name a model the ones that serve it.
func (r *Runner) passable(req *Pass) ([]*upstream.Upstream, []route.Candidate) {
	if req.Model == "" {
		all := r.understanding(req.Protocol)
		return all, choicesOf(all, r.Now())
	}
	all, choices := r.serving(req.Protocol, req.Model)
	if len(choices) > 0 && choices[0].Alias != "" && req.Named == nil {
		return nil, nil
	}
	return all, choices
}

// passAccount is the account that a request without a session is asked with: that of whoever made what it speaks of, else the
// tenant's own. What is kept is looked for under the same account always, whether that rests or not.
func (r *Runner) passAccount(u *upstream.Upstream, req *Pass, owner mooring.AccountName) mooring.AccountName {
	if owner != "" || len(u.Accounts) < 2 {
		return owner
	}
	c := choicesOf([]*upstream.Upstream{u}, r.Now())[0]
	if req.Model == "" || len(req.Objects) > 0 {
		for i := range c.Accounts {
			c.Accounts[i].Resting = false
		}
	}
	return route.AccountFor(string(req.Caller.Tenant), c)
}

// owner gives the record of what the request is about, where an upstream keeps that; empty where nobody here knows it. What
// another tenant owns does not exist.
func (r *Runner) owner(ctx context.Context, req *Pass) (mooring.Object, error) {
	var kept mooring.Object
	for _, f := range req.Objects {
		owners, err := r.Owners(ctx, req.Caller.Tenant, f.Value)
		switch {
		case err != nil:
			return kept, err
		case len(owners) == 0:
		case owners[0].Tenant != req.Caller.Tenant:
			return kept, unknownObject(f)
		case kept.Upstream == "" && r.Fleet.Get(owners[0].Upstream) != nil:
			kept = owners[0]
		}
	}
	return kept, nil
}

// unknownObject is worded as the API words it.
func unknownObject(f wire.Field) error {
	switch f.Path {
	case "conversation":
		return mooring.Errorf(mooring.CodeNotFound, "Conversation with id '%s' not found.", f.Value)
	case "previous_response_id":
		return mooring.Errorf(mooring.CodeNotFound, "Previous response with id '%s' not found.", f.Value)
	}
	return mooring.Errorf(mooring.CodeNotFound, "Response with id '%s' not found.", f.Value)
}

// opens says whether an upstream lets a path about kept things through: where it is asked with the client's own credential, the
// provider tells tenants apart; else where the configuration says so.
func opens(u *upstream.Upstream, path string) bool {
	return u.KeyMode != upstream.KeyOwn || slices.ContainsFunc(u.Passthrough, func(prefix string) bool {
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
		return ok && (rest == "" || rest[0] == '/')
	})
}

// pass lets a side request through that belongs to no session.
func (t *running) pass(ctx context.Context) error {
	return t.Pass(ctx, Pass{
		Caller: t.req.Caller, Protocol: t.req.Protocol, Method: t.req.Method, Path: t.req.Path, Query: t.req.Query, Header: t.req.Header, Body: t.req.Body,
		Model: t.req.Wire.Model, Named: func(model string) []byte { return bodyOf(&t.req, t.view, model).Bytes() },
	}, t.sink)
}

package edge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mooring"
)

// Place is a slot as an operator sees it. It says nothing of who its tenant is.
type Place struct {
	mooring.Claim
	Configured bool   // a slot that is no longer configured keeps its tenant
	URL        string // "" where it is not configured
	Open       int    // requests that it is answering for this process
	Health     string // "up", or why not; "" where it is not configured
	OtherSalt  bool   // claimed under another salt than the one of now
}

const noteReleased = "released"

// Remark is what an operator is told of the slot: its note, for as long as that tells something, and what stands in its tenant's way.
func (p *Place) Remark() string {
	var said []string
	if p.Note != "" && (p.Note != noteReleased || p.State == mooring.SlotQuarantined) {
		said = append(said, p.Note)
	}
	if p.OtherSalt {
		said = append(said, "claimed under another salt: its tenant cannot come back")
	}
	return strings.Join(said, "; ")
}

const healthTime = 2 * time.Second

// Places gives all slots, configured or once somebody's, by name.
func (e *Edge) Places(ctx context.Context) ([]Place, error) {
	if err := e.book.look(ctx); err != nil {
		return nil, err
	}
	if err := e.book.sound(); err != nil {
		return nil, err
	}
	rows := map[mooring.SlotName]*Place{}
	for _, c := range e.book.rows() {
		rows[c.Slot] = &Place{Claim: c, OtherSalt: UnderOtherSalt([]mooring.Claim{c}, e.book.keyID) > 0}
	}
	e.mu.RLock()
	slots := e.slots
	e.mu.RUnlock()
	var health sync.WaitGroup
	for name, s := range slots {
		p := rows[name]
		if p == nil {
			p = &Place{Claim: mooring.Claim{Slot: name, State: mooring.SlotFree}}
			rows[name] = p
		}
		p.Configured, p.URL, p.Open = true, s.url.String(), len(s.asked)
		health.Go(func() { p.Health = e.health(ctx, s, p.Key) })
	}
	health.Wait()
	out := make([]Place, 0, len(rows))
	for _, p := range rows {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Place) int { return strings.Compare(string(a.Slot), string(b.Slot)) })
	return out, nil
}

// health asks a web UI how it is, as its tenant where it has one: a request without an identity would end that one's session.
func (e *Edge) health(ctx context.Context, s *slot, key mooring.TenantKey) string {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	h := http.Header{"User-Agent": {"mooring"}, "Accept": {"application/json"}}
	if key != "" {
		h.Set(e.set.IdentityHeader, string(key))
	}
	req := (&http.Request{
		Method: http.MethodGet, Host: e.set.Host, Header: h, URL: &url.URL{Scheme: s.url.Scheme, Host: s.url.Host, Path: "/health"},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	res, err := s.via.RoundTrip(req)
	if err != nil {
		return "does not answer"
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Sprintf("answers %d", res.StatusCode)
	}
	return "up"
}

// KeyOf is the tenant key of a subject, as the identity source names it.
func (e *Edge) KeyOf(subject string) (mooring.TenantKey, error) {
	plain, ok := subjectOf(subject)
	if !ok {
		return "", mooring.Errorf(mooring.CodeInvalidRequest, "That can be nobody's subject: it is the id (`sub`) that the identity provider has for a person, not an address or a name.")
	}
	return tenantKey(e.set.Salt, e.set.Issuer, plain), nil
}

// Find gives the slot of that name, or of the tenant with that key.
func (e *Edge) Find(ctx context.Context, who string) (Place, error) {
	all, err := e.Places(ctx)
	if err != nil {
		return Place{}, err
	}
	for _, p := range all {
		if string(p.Slot) == who || p.Key != "" && string(p.Key) == who {
			return p, nil
		}
	}
	return Place{}, mooring.Errorf(mooring.CodeNotFound, "No slot has that name and no tenant that key.")
}

// Move takes a tenant to another slot, in two steps: at first the slot serves nobody, so that its state can be copied; once that is
// done, the tenant is let in at the new one. Moved to where it is, it is let in there again.
func (e *Edge) Move(ctx context.Context, who string, to mooring.SlotName, copied bool) (Place, error) {
	from, err := e.Find(ctx, who)
	if err != nil {
		return Place{}, err
	}
	if from.Key == "" {
		return Place{}, mooring.Errorf(mooring.CodeInvalidRequest, "The slot %s has no tenant.", from.Slot)
	}
	now := from.Claim
	if to == from.Slot {
		now.State, now.Note = mooring.SlotClaimed, ""
		return e.change(ctx, []mooring.Claim{from.Claim}, []mooring.Claim{now}, to)
	}
	target, err := e.Find(ctx, string(to))
	switch {
	case err != nil:
		return Place{}, err
	case target.Slot != to || !target.Configured || target.State != mooring.SlotFree:
		return Place{}, mooring.Errorf(mooring.CodeInvalidRequest, "The slot %s is not free.", to)
	case !copied:
		now.State, now.Note = mooring.SlotDraining, "moving to "+string(to)
		return e.change(ctx, []mooring.Claim{from.Claim}, []mooring.Claim{now}, from.Slot)
	case from.State != mooring.SlotDraining:
		return Place{}, mooring.Errorf(mooring.CodeInvalidRequest, "The slot %s still serves its tenant; move it without --copied first, and copy its state then.", from.Slot)
	}
	left := from.Claim
	left.State, left.Key, left.Epoch, left.Note = mooring.SlotQuarantined, "", from.Epoch+1, "its tenant moved to "+string(to)
	got := mooring.Claim{
		Slot: to, State: mooring.SlotClaimed, Key: from.Key, KeyID: from.KeyID, Epoch: target.Epoch + 1, ClaimedAt: e.opts.Now(), SeenAt: from.SeenAt,
		Note: "moved from " + string(from.Slot),
	}
	return e.change(ctx, []mooring.Claim{from.Claim, target.Claim}, []mooring.Claim{left, got}, to)
}

// Release takes a slot from its tenant: it serves nobody and keeps the data, and the tenant gets it back by returning. Once an operator
// has wiped it, it is free for anybody.
func (e *Edge) Release(ctx context.Context, who string, wiped bool) (Place, error) {
	is, err := e.Find(ctx, who)
	if err != nil {
		return Place{}, err
	}
	now := is.Claim
	switch {
	case is.State == mooring.SlotFree:
		return is, nil
	case !wiped && is.State == mooring.SlotQuarantined:
		return is, nil
	case !wiped:
		now.State, now.Note = mooring.SlotQuarantined, noteReleased
	case is.State != mooring.SlotQuarantined:
		return Place{}, mooring.Errorf(mooring.CodeInvalidRequest, "The slot %s is in use; release it without --wiped first, and wipe it then.", is.Slot)
	default:
		now = mooring.Claim{Slot: is.Slot, State: mooring.SlotFree, Epoch: is.Epoch + 1}
	}
	return e.change(ctx, []mooring.Claim{is.Claim}, []mooring.Claim{now}, is.Slot)
}

func (e *Edge) change(ctx context.Context, was, now []mooring.Claim, show mooring.SlotName) (Place, error) {
	if err := e.opts.Commit(ctx, &mooring.SlotChange{Was: was, Now: now}); err != nil {
		return Place{}, err
	}
	p, err := e.Find(ctx, string(show))
	e.revoke()
	return p, err
}

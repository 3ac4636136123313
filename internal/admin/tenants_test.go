package admin_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/admin"
)

// rooms are slots that note what is asked of them.
type rooms struct{ asked []string }

func (r *rooms) note(parts ...string) (admin.Place, error) {
	r.asked = append(r.asked, strings.Join(parts, " "))
	return admin.Place{Slot: "a", State: mooring.SlotClaimed, Tenant: "t1-x", Epoch: 2, Configured: true, ClaimedAt: &noon}, nil
}

func (r *rooms) Places(context.Context) ([]admin.Place, error) {
	p, err := r.note("list")
	return []admin.Place{p}, err
}

func (r *rooms) Find(_ context.Context, who string) (admin.Place, error) {
	if who == "nobody" || who == "key-of-stranger" {
		return admin.Place{}, mooring.Errorf(mooring.CodeNotFound, "No slot.")
	}
	return r.note("find", who)
}

func (r *rooms) KeyOf(subject string) (mooring.TenantKey, error) {
	return mooring.TenantKey("key-of-" + subject), nil
}

func (r *rooms) Move(_ context.Context, who string, to mooring.SlotName, copied bool) (admin.Place, error) {
	if to == "gone" {
		return admin.Place{}, mooring.Errorf(mooring.CodeSlotChanged, "It has changed.")
	}
	return r.note("move", who, string(to), map[bool]string{true: "copied"}[copied])
}

func (r *rooms) Release(_ context.Context, who string, wiped bool) (admin.Place, error) {
	return r.note("release", who, map[bool]string{true: "wiped"}[wiped])
}

func TestTenants(t *testing.T) {
	t.Parallel()
	const place = `{"slot":"a","state":"claimed","tenant":"t1-x","key_id":"","epoch":2,"claimed_at":"2026-03-01T12:00:00Z","seen_at":null,"note":"",` +
		`"configured":true,"url":"","in_flight":0,"health":""}`
	for _, row := range []struct {
		rule, key, what, body string
		status                int
		asked, want           string // what the edge was asked; the answer, or the code of an error
	}{
		{"slots are the operators'", "alice", "GET /api/tenants", "", 403, "", "operator_required"},
		{"all of them", "root", "GET /api/tenants", "", 200, "list", `{"tenants":[` + place + `]}`},
		{"one", "root", "GET /api/tenants/a", "", 200, "find a", place},
		{"none", "root", "GET /api/tenants/nobody", "", 404, "", "not_found"},
		{"a person's", "root", "GET /api/tenants?subject=ann", "", 200, "find key-of-ann", `{"tenants":[` + place + `]}`},
		{"a person's without a slot", "root", "GET /api/tenants?subject=stranger", "", 404, "", "not_found"},
		{"moving", "root", "POST /api/tenants/a/move", `{"to":"b"}`, 200, "move a b ", place},
		{"moved", "root", "POST /api/tenants/a/move", `{"to":"b","copied":true}`, 200, "move a b copied", place},
		{"nowhere", "root", "POST /api/tenants/a/move", `{}`, 400, "", "invalid_request"},
		{"a member that means nothing", "root", "POST /api/tenants/a/move", `{"to":"b","wiped":true}`, 400, "", "invalid_json"},
		{"changed meanwhile", "root", "POST /api/tenants/a/move", `{"to":"gone"}`, 409, "", "slot_changed"},
		{"released", "root", "POST /api/tenants/a/release", "", 200, "release a ", place},
		{"wiped", "root", "POST /api/tenants/a/release", `{"wiped":true}`, 200, "release a wiped", place},
		{"a user moves nobody", "alice", "POST /api/tenants/a/move", `{"to":"b"}`, 403, "", "operator_required"},
		{"a user releases nobody", "alice", "POST /api/tenants/a/release", "", 403, "", "operator_required"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			r := &rooms{}
			w := sendTenants(t, func() admin.Tenants { return r }, row.key, row.what, row.body)
			if got := strings.TrimSpace(w.Body.String()); w.Code != row.status || row.status == 200 && got != row.want || row.status != 200 && !strings.Contains(got, `"`+row.want+`"`) {
				t.Errorf("%d %s, want %d %s", w.Code, got, row.status, row.want)
			}
			if diff := cmp.Diff(row.asked, strings.Join(r.asked, "|")); diff != "" {
				t.Errorf("asked of the edge (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("who has no slot is not called a slot that is none", func(t *testing.T) {
		t.Parallel()
		w := sendTenants(t, func() admin.Tenants { return &rooms{} }, "root", "GET /api/tenants?subject=stranger", "")
		if got := w.Body.String(); !strings.Contains(got, "Nobody with that subject has a slot") || !strings.Contains(got, "`sub`") {
			t.Errorf("%s", got)
		}
	})
	t.Run("without an edge there is nothing", func(t *testing.T) {
		t.Parallel()
		if w := sendTenants(t, func() admin.Tenants { return nil }, "root", "GET /api/tenants", ""); w.Code != http.StatusNotFound {
			t.Errorf("status %d", w.Code)
		}
	})
}

func sendTenants(t *testing.T, tenants func() admin.Tenants, key, what, body string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	mux := http.NewServeMux()
	admin.New(admin.Options{
		Caller: people, Tenants: tenants, Drains: &drains{}, Metrics: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler),
	}).Mount(mux)
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("X-Mooring-Key", key)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

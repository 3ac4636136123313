package apiclient

import (
	"net/url"
	"strings"
	"time"

	"mooring"
)

// Place is a slot of the tenant edge, as the server tells operators.
type Place struct {
	Slot       mooring.SlotName  `json:"slot"`
	State      mooring.SlotState `json:"state"`
	Tenant     mooring.TenantKey `json:"tenant"`
	KeyID      string            `json:"key_id"`
	Epoch      int64             `json:"epoch"`
	ClaimedAt  *time.Time        `json:"claimed_at"`
	SeenAt     *time.Time        `json:"seen_at"`
	Note       string            `json:"note"`
	Configured bool              `json:"configured"`
	URL        string            `json:"url"`
	InFlight   int               `json:"in_flight"`
	Health     string            `json:"health"`
}

// Places is all of them.
type Places struct {
	Tenants []Place `json:"tenants"`
}

// TenantPath is where a slot, or a tenant's, is asked about; more names what is to be done with it.
func TenantPath(who string, more ...string) string {
	var path strings.Builder
	path.WriteString("/api/tenants/" + url.PathEscape(who))
	for _, part := range more {
		path.WriteString("/" + part)
	}
	return path.String()
}

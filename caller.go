package mooring

// Role is what a key may do.
type Role string

// The roles of CONTRACT section 2.
const (
	RoleUser     Role = "user"
	RoleOperator Role = "operator"
)

// Caller is who sends a request: found by its key, or by a sign-in with one, never by another header.
type Caller struct {
	Tenant Tenant
	Key    KeyName // empty where no keys are configured
	Role   Role
	Own    Credential // the client's own credential, for upstreams with `key: client`

	SignedIn bool // by the pages' cookie, in place of the key itself
}

// Operator says whether the caller may use operators' routes.
func (c Caller) Operator() bool { return c.Role == RoleOperator }

// Credential is what a client sends to authenticate at a model server.
type Credential struct {
	Authorization Secret
	APIKey        Secret // X-Api-Key
}

// Empty says that the client sent none.
func (c Credential) Empty() bool { return c.Authorization == "" && c.APIKey == "" }

package workspace

import (
	"net/http"

	"mooring"
)

// deleteSession removes a session for good. A turn of it that still runs finds it gone and writes nothing.
func (a *API) deleteSession(_ http.ResponseWriter, r *http.Request, tenant mooring.Tenant) (reply, error) {
	s, err := a.find(r, tenant)
	if err != nil {
		return reply{}, err
	}
	err = a.write.Commit(r.Context(), &mooring.Delete{Tenant: tenant, Session: s.ID})
	a.write.Forget(tenant, s.ID)
	return reply{status: http.StatusNoContent}, err
}

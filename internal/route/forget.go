package route

import "mooring"

// ForgetRemote drops the id under which a server knows a session: it is read again.
func (p *Picker) ForgetRemote(t mooring.Tenant, s mooring.SessionID, server string) {
	p.remote.Invalidate(berth{home{t, s}, server})
}

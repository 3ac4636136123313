package app

import (
	"context"
	"time"

	"mooring"
	"mooring/internal/record"
)

// reader reads the store as it is once all that is safe has reached it.
type reader struct {
	Store
	log *record.Writer
}

// Session reads one session.
func (r reader) Session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.Session{}, err
	}
	return r.Store.Session(ctx, t, id)
}

// SessionsByKey reads the sessions of a key.
func (r reader) SessionsByKey(ctx context.Context, t mooring.Tenant, key string) ([]mooring.Session, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.SessionsByKey(ctx, t, key)
}

// SessionsByFriendlyID reads the sessions of a short name.
func (r reader) SessionsByFriendlyID(ctx context.Context, t mooring.Tenant, id string) ([]mooring.Session, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.SessionsByFriendlyID(ctx, t, id)
}

// Siblings reads what stands beside messages.
func (r reader) Siblings(ctx context.Context, t mooring.Tenant, s mooring.SessionID, parents []mooring.MessageID) (map[mooring.MessageID][]mooring.MessageID, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Siblings(ctx, t, s, parents)
}

// Newest reads the newest message below another one.
func (r reader) Newest(ctx context.Context, t mooring.Tenant, s mooring.SessionID, from mooring.MessageID) (mooring.MessageID, error) {
	if err := r.log.Sync(ctx); err != nil {
		return "", err
	}
	return r.Store.Newest(ctx, t, s, from)
}

// Sessions reads a page of the list.
func (r reader) Sessions(ctx context.Context, t mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.SessionPage{}, err
	}
	return r.Store.Sessions(ctx, t, f)
}

// Branch reads a page of a branch.
func (r reader) Branch(ctx context.Context, t mooring.Tenant, s mooring.SessionID, p mooring.BranchPage) ([]mooring.Message, bool, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, false, err
	}
	return r.Store.Branch(ctx, t, s, p)
}

// Turns reads a page of a session's turns.
func (r reader) Turns(ctx context.Context, t mooring.Tenant, s mooring.SessionID, p mooring.TurnPage) ([]mooring.Turn, bool, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, false, err
	}
	return r.Store.Turns(ctx, t, s, p)
}

// TreeUse sums up what trees of sessions took.
func (r reader) TreeUse(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]mooring.Spending, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.TreeUse(ctx, t, ids)
}

// Descendants reads what stands below a session.
func (r reader) Descendants(ctx context.Context, t mooring.Tenant, top mooring.SessionID, limit int) ([]mooring.Session, bool, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, false, err
	}
	return r.Store.Descendants(ctx, t, top, limit)
}

// Figures sums up what a tenant has.
func (r reader) Figures(ctx context.Context, t mooring.Tenant, since time.Time) (mooring.Figures, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.Figures{}, err
	}
	return r.Store.Figures(ctx, t, since)
}

// Turn reads one turn.
func (r reader) Turn(ctx context.Context, t mooring.Tenant, id mooring.TurnID) (mooring.Turn, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.Turn{}, err
	}
	return r.Store.Turn(ctx, t, id)
}

// Pins reads a session's pins.
func (r reader) Pins(ctx context.Context, t mooring.Tenant, s mooring.SessionID) ([]mooring.Pin, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Pins(ctx, t, s)
}

// MadeAt reads where an answer was made.
func (r reader) MadeAt(ctx context.Context, t mooring.Tenant, message mooring.MessageID) (mooring.Turn, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.Turn{}, err
	}
	return r.Store.MadeAt(ctx, t, message)
}

// SessionsOf reads some sessions.
func (r reader) SessionsOf(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.SessionsOf(ctx, t, ids)
}

// Chain looks messages up by digest.
func (r reader) Chain(ctx context.Context, t mooring.Tenant, digests [][]byte) ([]mooring.ChainEntry, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Chain(ctx, t, digests)
}

// Around reads what stands around messages.
func (r reader) Around(ctx context.Context, t mooring.Tenant, ids []mooring.MessageID, up, down int) ([]mooring.Neighbour, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Around(ctx, t, ids, up, down)
}

// Trail reads where the messages above a tip stand.
func (r reader) Trail(ctx context.Context, t mooring.Tenant, s mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Trail(ctx, t, s, tip, limit)
}

// SentTurn looks for the turn that a client's own message began.
func (r reader) SentTurn(ctx context.Context, t mooring.Tenant, s mooring.SessionID, clientMessage string) (mooring.Turn, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.Turn{}, err
	}
	return r.Store.SentTurn(ctx, t, s, clientMessage)
}

// below reads what follows a message, which has to be one of the session; what follows none are its roots.
func (r reader) below(ctx context.Context, t mooring.Tenant, s mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	if parent != "" {
		at, err := r.Store.Trail(ctx, t, s, parent, 1)
		if err != nil {
			return nil, err
		}
		if len(at) == 0 {
			return nil, mooring.Errorf(mooring.CodeNotFound, "The session has no such message; read its messages again.")
		}
	}
	return r.Children(ctx, t, s, parent)
}

// FailedTurns looks for turns that a client may send again.
func (r reader) FailedTurns(ctx context.Context, t mooring.Tenant, body []byte, since time.Time) ([]mooring.Turn, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.FailedTurns(ctx, t, body, since)
}

// Owners looks for those who own what an upstream made.
func (r reader) Owners(ctx context.Context, t mooring.Tenant, object string) ([]mooring.Object, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Owners(ctx, t, object)
}

// KeyUse sums what a key has used.
func (r reader) KeyUse(ctx context.Context, t mooring.Tenant, key mooring.KeyName, from, to time.Time) (mooring.KeyUse, error) {
	if err := r.log.Sync(ctx); err != nil {
		return mooring.KeyUse{}, err
	}
	return r.Store.KeyUse(ctx, t, key, from, to)
}

// Use sums up what was used.
func (r reader) Use(ctx context.Context, q mooring.UseQuery) ([]mooring.UseRow, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Use(ctx, q)
}

// UseTimes counts how long turns took.
func (r reader) UseTimes(ctx context.Context, q mooring.UseQuery) ([]mooring.UseTimes, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.UseTimes(ctx, q)
}

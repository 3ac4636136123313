package sqlstore

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"mooring"
)

// lockNames takes the aliases that a batch brings in one order, so that the batches of two replicas with the same ones in another
// order cannot wait for each other. A single alias is locked by its own row.
func (w *writer) lockNames(ctx context.Context, batch []mooring.Change) error {
	if w.dialect.LockNames == "" {
		return nil
	}
	keys := map[int64]bool{}
	for _, change := range batch {
		c, ok := change.(*mooring.Begin)
		if !ok {
			continue
		}
		for _, a := range c.Aliases {
			keys[lockKey(c.Session.Tenant, a)] = true
		}
	}
	if len(keys) < 2 {
		return nil
	}
	return w.later(ctx, w.dialect.LockNames, slices.Sorted(maps.Keys(keys)))
}

// lockKey is a number for an alias. Two that have the same wait for each other, no more.
func lockKey(t mooring.Tenant, a mooring.Alias) int64 {
	h := fnv.New64a()
	for _, part := range []string{string(t), string(a.Class), a.Value} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(part))
	}
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

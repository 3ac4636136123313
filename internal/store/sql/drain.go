package sqlstore

import (
	"context"
	"time"

	"mooring"
)

// Who drains again keeps the time of the first.
const insertDrained = `INSERT INTO drained (upstream, since) VALUES ($1, $2) ON CONFLICT DO NOTHING`

const deleteDrained = `DELETE FROM drained WHERE upstream = $1`

func (w *writer) drain(ctx context.Context, c *mooring.Drain) error {
	c.Err = nil
	if c.At.IsZero() {
		_, err := w.exec(ctx, deleteDrained, text(c.Upstream))
		return err
	}
	_, err := w.exec(ctx, insertDrained, text(c.Upstream), micros(c.At))
	return err
}

const drainedUpstreams = `SELECT upstream, since FROM drained`

// Drained gives the upstreams that take no new sessions, and since when, whether they are configured or not.
func (s *Store) Drained(ctx context.Context) (map[mooring.UpstreamName]time.Time, error) {
	found := map[mooring.UpstreamName]time.Time{}
	err := s.each(ctx, func(row scanner) error {
		var name mooring.UpstreamName
		var since time.Time
		if err := row.Scan(&name, moment{&since}); err != nil {
			return err
		}
		found[name] = since
		return nil
	}, drainedUpstreams)
	return found, s.dialect.failed(err, "read which upstreams are drained")
}

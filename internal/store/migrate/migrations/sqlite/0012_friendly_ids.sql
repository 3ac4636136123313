-- +goose Up
-- Pages name a session by its friendly id.
CREATE INDEX session_friendly_id ON session (tenant, friendly_id);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('session', 'session_friendly_id', '100000 100000 1 1');

ANALYZE sqlite_schema;

-- +goose Down
DROP INDEX session_friendly_id;

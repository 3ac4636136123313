-- +goose Up
-- Upstreams that take no new sessions. They are the operators', not a tenant's.
CREATE TABLE drained (
	upstream TEXT    NOT NULL PRIMARY KEY,
	since    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE drained;

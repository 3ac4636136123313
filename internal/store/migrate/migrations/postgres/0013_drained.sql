-- +goose Up
-- Upstreams that take no new sessions. They are the operators', not a tenant's.
CREATE TABLE drained (
	upstream TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	since    BIGINT NOT NULL
);

-- +goose Down
DROP TABLE drained;

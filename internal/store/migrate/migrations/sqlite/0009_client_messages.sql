-- +goose Up
-- The id that a page gave to what it sent: sent again it is the same turn of that session.
ALTER TABLE turn ADD COLUMN client_message TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX turn_client_message ON turn (tenant, session, client_message) WHERE client_message <> '';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('turn', 'turn_client_message', '100000 100000 10 1');

ANALYZE sqlite_schema;

-- +goose Down
DROP INDEX turn_client_message;
ALTER TABLE turn DROP COLUMN client_message;

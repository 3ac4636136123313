-- +goose Up
-- A session that a chat was reset to knows the one before, what its client held then, and the answer that opened it.
ALTER TABLE session ADD COLUMN reset_of TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN cut BYTEA;
ALTER TABLE session ADD COLUMN ack BYTEA;

-- Turns that a client may send again.
CREATE INDEX turn_retry ON turn (tenant, body_digest) WHERE state IN ('failed', 'cancelled', 'interrupted');

-- Ids that upstreams gave. The row of a deleted session stays without one, so that its id is nobody else's.
CREATE TABLE object (
	object_id      BYTEA NOT NULL,
	tenant         BYTEA NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	message        TEXT COLLATE "C" NOT NULL,
	upstream       TEXT COLLATE "C" NOT NULL,
	account        TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (object_id, tenant)
);

CREATE INDEX object_session ON object (tenant, session) WHERE session <> '';

-- +goose Down
DROP TABLE object;
DROP INDEX turn_retry;
ALTER TABLE session DROP COLUMN ack;
ALTER TABLE session DROP COLUMN cut;
ALTER TABLE session DROP COLUMN reset_of;

-- +goose Up
-- What is held of headers that may name sessions: 0 watched, 1 believed, 2 refused for good.
CREATE TABLE learned_header (
	tenant   BYTEA NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	state    BIGINT NOT NULL,
	believed BIGINT NOT NULL,
	refused  BIGINT NOT NULL,
	why      TEXT COLLATE "C" NOT NULL,
	doubts   BIGINT NOT NULL,
	PRIMARY KEY (tenant, name)
);

-- The values that they had, as keyed digests.
CREATE TABLE learned_value (
	tenant  BYTEA NOT NULL,
	session TEXT COLLATE "C" NOT NULL,
	name    TEXT COLLATE "C" NOT NULL,
	digest  BYTEA NOT NULL,
	client  BYTEA NOT NULL,
	turns   BIGINT NOT NULL,
	whole   BOOLEAN NOT NULL,
	seen_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, session, name)
);

-- +goose Down
DELETE FROM alias WHERE class LIKE 'learned:%';
DROP TABLE learned_value;
DROP TABLE learned_header;

-- +goose Up
-- Values that clients choose are BYTEA: they are compared byte for byte and may be any bytes. Times are microseconds since
-- 1970, 0 for none. Ids sort by their bytes.

CREATE TABLE session (
	tenant         BYTEA NOT NULL,
	id             TEXT COLLATE "C" NOT NULL,
	client_key     BYTEA NOT NULL,
	friendly_id    TEXT COLLATE "C" NOT NULL,
	title          TEXT COLLATE "C" NOT NULL,
	client         TEXT COLLATE "C" NOT NULL,
	project        TEXT COLLATE "C" NOT NULL,
	parent         TEXT COLLATE "C" NOT NULL,
	root           TEXT COLLATE "C" NOT NULL,
	relation       TEXT COLLATE "C" NOT NULL,
	state          TEXT COLLATE "C" NOT NULL,
	upstream       TEXT COLLATE "C" NOT NULL,
	models         TEXT COLLATE "C" NOT NULL,
	turns          BIGINT NOT NULL,
	side_only      BOOLEAN NOT NULL,
	input          BIGINT,
	output         BIGINT,
	cache_read     BIGINT,
	cache_write_5m BIGINT,
	cache_write_1h BIGINT,
	cost_usd       DOUBLE PRECISION NOT NULL,
	unpriced       BIGINT NOT NULL,
	tip            TEXT COLLATE "C" NOT NULL,
	tip_turn       TEXT COLLATE "C" NOT NULL,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL,
	pinned         BOOLEAN NOT NULL,
	archived       BOOLEAN NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE INDEX session_activity ON session (tenant, side_only, updated_at, id);
CREATE INDEX session_client_key ON session (tenant, client_key);
CREATE INDEX session_parent ON session (tenant, parent) WHERE parent <> '';
CREATE INDEX session_root ON session (tenant, root) WHERE root <> id;

CREATE TABLE turn (
	tenant         BYTEA NOT NULL,
	id             TEXT COLLATE "C" NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	kind           TEXT COLLATE "C" NOT NULL,
	protocol       TEXT COLLATE "C" NOT NULL,
	model          TEXT COLLATE "C" NOT NULL,
	api_key        TEXT COLLATE "C" NOT NULL,
	stream         BOOLEAN NOT NULL,
	state          TEXT COLLATE "C" NOT NULL,
	upstream       TEXT COLLATE "C" NOT NULL,
	account        TEXT COLLATE "C" NOT NULL,
	pin            TEXT COLLATE "C" NOT NULL,
	identity       TEXT COLLATE "C" NOT NULL,
	evidence       TEXT COLLATE "C" NOT NULL,
	question       TEXT COLLATE "C" NOT NULL,
	answer         TEXT COLLATE "C" NOT NULL,
	view           TEXT COLLATE "C" NOT NULL,
	attempts       TEXT COLLATE "C" NOT NULL,
	input          BIGINT,
	output         BIGINT,
	cache_read     BIGINT,
	cache_write_5m BIGINT,
	cache_write_1h BIGINT,
	cost_usd       DOUBLE PRECISION,
	unpriced       BIGINT NOT NULL,
	status         BIGINT NOT NULL,
	error_code     TEXT COLLATE "C" NOT NULL,
	body_digest    BYTEA,
	replica        TEXT COLLATE "C" NOT NULL,
	started_at     BIGINT NOT NULL,
	first_at       BIGINT NOT NULL,
	ended_at       BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE INDEX turn_session ON turn (tenant, session, id);
CREATE INDEX turn_api_key ON turn (tenant, api_key, started_at) WHERE api_key <> '';
CREATE INDEX turn_running ON turn (replica) WHERE state = 'running';

CREATE TABLE message (
	tenant         BYTEA NOT NULL,
	id             TEXT COLLATE "C" NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	parent         TEXT COLLATE "C" NOT NULL,
	turn           TEXT COLLATE "C" NOT NULL,
	role           TEXT COLLATE "C" NOT NULL,
	state          TEXT COLLATE "C" NOT NULL,
	protocol       TEXT COLLATE "C" NOT NULL,
	content        BYTEA,
	blob           BYTEA,
	digest         BYTEA,
	seen       BYTEA,
	created_at     BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE INDEX message_parent ON message (tenant, session, parent);

CREATE TABLE blob (
	tenant         BYTEA NOT NULL,
	digest         BYTEA NOT NULL,
	content        BYTEA NOT NULL,
	refs           BIGINT NOT NULL,
	PRIMARY KEY (tenant, digest)
);

CREATE TABLE chain (
	tenant         BYTEA NOT NULL,
	digest         BYTEA NOT NULL,
	kind           SMALLINT NOT NULL,
	message        TEXT COLLATE "C" NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant, digest, kind, message)
);

CREATE TABLE alias (
	tenant         BYTEA NOT NULL,
	class          TEXT COLLATE "C" NOT NULL,
	value          BYTEA NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant, class, value)
);

CREATE INDEX alias_session ON alias (tenant, session);

CREATE TABLE pin (
	tenant         BYTEA NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	candidates     TEXT COLLATE "C" NOT NULL,
	upstream       TEXT COLLATE "C" NOT NULL,
	account        TEXT COLLATE "C" NOT NULL,
	bound          BOOLEAN NOT NULL,
	turn           TEXT COLLATE "C" NOT NULL,
	used_at        BIGINT NOT NULL,
	PRIMARY KEY (tenant, session, candidates)
);

-- An id once given out stays with its session; the row of a deleted session stays without one, so that nobody inherits
-- what the upstream still remembers.
CREATE TABLE remote (
	server         TEXT COLLATE "C" NOT NULL,
	remote_id      BYTEA NOT NULL,
	tenant         BYTEA NOT NULL,
	session        TEXT COLLATE "C" NOT NULL,
	current        BOOLEAN NOT NULL,
	PRIMARY KEY (server, remote_id)
);

CREATE INDEX remote_session ON remote (tenant, session, server) WHERE session <> '';

-- One row: up to which number the journal before the store is in it.
CREATE TABLE applied (
	seq BIGINT  NOT NULL
);

INSERT INTO applied (seq) VALUES (0);

CREATE TABLE replica (
	name           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	seen_at        BIGINT NOT NULL
);

-- +goose Down
DROP TABLE replica;
DROP TABLE applied;
DROP TABLE remote;
DROP TABLE pin;
DROP TABLE alias;
DROP TABLE chain;
DROP TABLE blob;
DROP TABLE message;
DROP TABLE turn;
DROP TABLE session;

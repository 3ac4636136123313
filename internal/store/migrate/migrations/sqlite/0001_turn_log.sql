-- +goose Up
-- Values that clients choose are BLOB: they are compared byte for byte and may be any bytes. Times are microseconds since
-- 1970, 0 for none. Flags are 0 or 1.

CREATE TABLE session (
	tenant         BLOB    NOT NULL,
	id             TEXT    NOT NULL,
	client_key     BLOB    NOT NULL,
	friendly_id    TEXT    NOT NULL,
	title          TEXT    NOT NULL,
	client         TEXT    NOT NULL,
	project        TEXT    NOT NULL,
	parent         TEXT    NOT NULL,
	root           TEXT    NOT NULL,
	relation       TEXT    NOT NULL,
	state          TEXT    NOT NULL,
	upstream       TEXT    NOT NULL,
	models         TEXT    NOT NULL,
	turns          INTEGER NOT NULL,
	side_only      INTEGER NOT NULL,
	input          INTEGER,
	output         INTEGER,
	cache_read     INTEGER,
	cache_write_5m INTEGER,
	cache_write_1h INTEGER,
	cost_usd       REAL    NOT NULL,
	unpriced       INTEGER NOT NULL,
	tip            TEXT    NOT NULL,
	tip_turn       TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	pinned         INTEGER NOT NULL,
	archived       INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_activity ON session (tenant, side_only, updated_at, id);
CREATE INDEX session_client_key ON session (tenant, client_key);
CREATE INDEX session_parent ON session (tenant, parent) WHERE parent <> '';
CREATE INDEX session_root ON session (tenant, root) WHERE root <> id;

-- Rows of turn and message are too long for a table without rowid: they would spill into overflow pages.
CREATE TABLE turn (
	tenant         BLOB    NOT NULL,
	id             TEXT    NOT NULL,
	session        TEXT    NOT NULL,
	kind           TEXT    NOT NULL,
	protocol       TEXT    NOT NULL,
	model          TEXT    NOT NULL,
	api_key        TEXT    NOT NULL,
	stream         INTEGER NOT NULL,
	state          TEXT    NOT NULL,
	upstream       TEXT    NOT NULL,
	account        TEXT    NOT NULL,
	pin            TEXT    NOT NULL,
	identity       TEXT    NOT NULL,
	evidence       TEXT    NOT NULL,
	question       TEXT    NOT NULL,
	answer         TEXT    NOT NULL,
	view           TEXT    NOT NULL,
	attempts       TEXT    NOT NULL,
	input          INTEGER,
	output         INTEGER,
	cache_read     INTEGER,
	cache_write_5m INTEGER,
	cache_write_1h INTEGER,
	cost_usd       REAL,
	unpriced       INTEGER NOT NULL,
	status         INTEGER NOT NULL,
	error_code     TEXT    NOT NULL,
	body_digest    BLOB,
	replica        TEXT    NOT NULL,
	started_at     INTEGER NOT NULL,
	first_at       INTEGER NOT NULL,
	ended_at       INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT;

CREATE INDEX turn_session ON turn (tenant, session, id);
CREATE INDEX turn_api_key ON turn (tenant, api_key, started_at) WHERE api_key <> '';
CREATE INDEX turn_running ON turn (replica) WHERE state = 'running';

CREATE TABLE message (
	tenant     BLOB    NOT NULL,
	id         TEXT    NOT NULL,
	session    TEXT    NOT NULL,
	parent     TEXT    NOT NULL,
	turn       TEXT    NOT NULL,
	role       TEXT    NOT NULL,
	state      TEXT    NOT NULL,
	protocol   TEXT    NOT NULL,
	content    BLOB,
	blob       BLOB,
	digest     BLOB,
	seen       BLOB,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT;

CREATE INDEX message_parent ON message (tenant, session, parent);

CREATE TABLE blob (
	tenant  BLOB    NOT NULL,
	digest  BLOB    NOT NULL,
	content BLOB    NOT NULL,
	refs    INTEGER NOT NULL,
	PRIMARY KEY (tenant, digest)
) STRICT;

CREATE TABLE chain (
	tenant  BLOB    NOT NULL,
	digest  BLOB    NOT NULL,
	kind    INTEGER NOT NULL,
	message TEXT    NOT NULL,
	session TEXT    NOT NULL,
	PRIMARY KEY (tenant, digest, kind, message)
) STRICT, WITHOUT ROWID;

CREATE TABLE alias (
	tenant  BLOB NOT NULL,
	class   TEXT NOT NULL,
	value   BLOB NOT NULL,
	session TEXT NOT NULL,
	PRIMARY KEY (tenant, class, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX alias_session ON alias (tenant, session);

CREATE TABLE pin (
	tenant     BLOB    NOT NULL,
	session    TEXT    NOT NULL,
	candidates TEXT    NOT NULL,
	upstream   TEXT    NOT NULL,
	account    TEXT    NOT NULL,
	bound      INTEGER NOT NULL,
	turn       TEXT    NOT NULL,
	used_at    INTEGER NOT NULL,
	PRIMARY KEY (tenant, session, candidates)
) STRICT, WITHOUT ROWID;

-- An id once given out stays with its session; the row of a deleted session stays without one, so that nobody inherits
-- what the upstream still remembers.
CREATE TABLE remote (
	server    TEXT    NOT NULL,
	remote_id BLOB    NOT NULL,
	tenant    BLOB    NOT NULL,
	session   TEXT    NOT NULL,
	current   INTEGER NOT NULL,
	PRIMARY KEY (server, remote_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX remote_session ON remote (tenant, session, server) WHERE session <> '';

-- One row: up to which number the journal before the store is in it.
CREATE TABLE applied (
	seq INTEGER NOT NULL
) STRICT;

INSERT INTO applied (seq) VALUES (0);

CREATE TABLE replica (
	name    TEXT    NOT NULL PRIMARY KEY,
	seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

-- +goose Up
-- The tenant edge: which slot is whose, who is logged in there, what counts once, and how often the first two have changed.
CREATE TABLE slot (
	name       TEXT NOT NULL PRIMARY KEY,
	state      TEXT NOT NULL,
	tenant_key TEXT UNIQUE,
	key_id     TEXT NOT NULL,
	epoch      INTEGER NOT NULL,
	claimed_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	note       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE edge_login (
	token      BLOB NOT NULL PRIMARY KEY,
	tenant_key TEXT NOT NULL,
	subject    BLOB NOT NULL,
	session    BLOB,
	created_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	proven     INTEGER NOT NULL,
	renewing   INTEGER NOT NULL,
	ends_at    INTEGER NOT NULL,
	sealed     BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_login_subject ON edge_login (subject);
CREATE INDEX edge_login_session ON edge_login (session);

CREATE TABLE edge_spent (
	mark     BLOB NOT NULL PRIMARY KEY,
	until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE edge_book (
	id      INTEGER NOT NULL PRIMARY KEY,
	slots   INTEGER NOT NULL,
	logouts INTEGER NOT NULL
) STRICT;
INSERT INTO edge_book (id, slots, logouts) VALUES (1, 0, 0);

-- +goose Down
DROP TABLE edge_book;
DROP TABLE edge_spent;
DROP TABLE edge_login;
DROP TABLE slot;

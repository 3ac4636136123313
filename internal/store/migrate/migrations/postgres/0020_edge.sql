-- +goose Up
-- The tenant edge: which slot is whose, who is logged in there, what counts once, and how often the first two have changed.
CREATE TABLE slot (
	name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	state      TEXT COLLATE "C" NOT NULL,
	tenant_key TEXT COLLATE "C" UNIQUE,
	key_id     TEXT COLLATE "C" NOT NULL,
	epoch      BIGINT NOT NULL,
	claimed_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	note       TEXT COLLATE "C" NOT NULL
);

CREATE TABLE edge_login (
	token      BYTEA NOT NULL PRIMARY KEY,
	tenant_key TEXT COLLATE "C" NOT NULL,
	subject    BYTEA NOT NULL,
	session    BYTEA,
	created_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	proven     BIGINT NOT NULL,
	renewing   BIGINT NOT NULL,
	ends_at    BIGINT NOT NULL,
	sealed     BYTEA NOT NULL
);
CREATE INDEX edge_login_subject ON edge_login (subject);
CREATE INDEX edge_login_session ON edge_login (session);

CREATE TABLE edge_spent (
	mark     BYTEA NOT NULL PRIMARY KEY,
	until_at BIGINT NOT NULL
);

CREATE TABLE edge_book (
	id      BIGINT NOT NULL PRIMARY KEY,
	slots   BIGINT NOT NULL,
	logouts BIGINT NOT NULL
);
INSERT INTO edge_book (id, slots, logouts) VALUES (1, 0, 0);

-- +goose Down
DROP TABLE edge_book;
DROP TABLE edge_spent;
DROP TABLE edge_login;
DROP TABLE slot;

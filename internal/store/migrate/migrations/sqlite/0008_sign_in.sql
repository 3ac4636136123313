-- +goose Up
-- Browsers that are signed in with a client key. Whose the key is says the configuration.
CREATE TABLE sign_in (
	token      BLOB    NOT NULL,
	key_name   TEXT    NOT NULL,
	mark       BLOB    NOT NULL,
	created_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (token)
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_key ON sign_in (key_name, seen_at);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('sign_in', 'sign_in', '1000 1'),
	('sign_in', 'sign_in_key', '1000 10 1');

ANALYZE sqlite_schema;

-- +goose Down
DROP TABLE sign_in;

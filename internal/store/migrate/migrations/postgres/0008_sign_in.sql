-- +goose Up
-- Browsers that are signed in with a client key. Whose the key is says the configuration.
CREATE TABLE sign_in (
	token      BYTEA NOT NULL,
	key_name   TEXT COLLATE "C" NOT NULL,
	mark       BYTEA NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (token)
);

CREATE INDEX sign_in_key ON sign_in (key_name, seen_at);

-- +goose Down
DROP TABLE sign_in;

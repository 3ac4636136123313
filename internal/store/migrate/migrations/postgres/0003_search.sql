-- +goose Up
-- The queue of messages that the index does not have yet. It goes over all tenants, in about the order of the commits, and is
-- empty but for moments.
CREATE TABLE search_pending (
	seq     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant  BYTEA NOT NULL,
	message TEXT COLLATE "C" NOT NULL
);

-- The words are those of the message, each once and without their places; each begins with a mark of its tenant, so that one
-- tenant's search reads no other one's part of the index.
CREATE TABLE search_doc (
	tenant  BYTEA NOT NULL,
	id      BIGINT GENERATED ALWAYS AS IDENTITY,
	session TEXT COLLATE "C" NOT NULL,
	message TEXT COLLATE "C" NOT NULL,
	words   TSVECTOR NOT NULL,
	PRIMARY KEY (tenant, session, message)
);

CREATE INDEX search_doc_words ON search_doc USING gin (words);

-- One row, as in SQLite; here VACUUM takes deleted words out of the files.
CREATE TABLE search_state (
	deleted BIGINT NOT NULL,
	wiped   BIGINT NOT NULL
);

INSERT INTO search_state (deleted, wiped) VALUES (0, 0);

INSERT INTO search_pending (tenant, message) SELECT tenant, id FROM message WHERE length(content) IS NULL OR length(content) > 0
	ORDER BY created_at, id;

-- +goose Down
DROP TABLE search_state;
DROP TABLE search_doc;
DROP TABLE search_pending;

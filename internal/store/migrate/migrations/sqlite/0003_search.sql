-- +goose Up
-- The queue of messages that the index does not have yet. It goes over all tenants, in the order of the commits, and is
-- empty but for moments.
CREATE TABLE search_pending (
	seq     INTEGER PRIMARY KEY,
	tenant  BLOB    NOT NULL,
	message TEXT    NOT NULL
) STRICT;

CREATE TABLE search_doc (
	tenant  BLOB    NOT NULL,
	id      INTEGER PRIMARY KEY,
	session TEXT    NOT NULL,
	message TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX search_doc_message ON search_doc (tenant, session, message);

-- The words themselves: which document has them, and nothing of the text. A row's number is the document's id.
CREATE VIRTUAL TABLE search_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- One row: how often documents were deleted, and up to which deletion their words are out of the file.
CREATE TABLE search_state (
	deleted INTEGER NOT NULL,
	wiped   INTEGER NOT NULL
) STRICT;

INSERT INTO search_state (deleted, wiped) VALUES (0, 0);

INSERT INTO search_pending (tenant, message) SELECT tenant, id FROM message WHERE length(content) IS NULL OR length(content) > 0
	ORDER BY created_at, id;

-- +goose Down
DROP TABLE search_state;
DROP TABLE search_words;
DROP TABLE search_doc;
DROP TABLE search_pending;

-- +goose Up
-- What is held of headers that may name sessions: 0 watched, 1 believed, 2 refused for good.
CREATE TABLE learned_header (
	tenant   BLOB    NOT NULL,
	name     TEXT    NOT NULL,
	state    INTEGER NOT NULL,
	believed INTEGER NOT NULL,
	refused  INTEGER NOT NULL,
	why      TEXT    NOT NULL,
	doubts   INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- The values that they had, as keyed digests.
CREATE TABLE learned_value (
	tenant  BLOB    NOT NULL,
	session TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	digest  BLOB    NOT NULL,
	client  BLOB    NOT NULL,
	turns   INTEGER NOT NULL,
	whole   INTEGER NOT NULL,
	seen_at INTEGER NOT NULL,
	PRIMARY KEY (tenant, session, name)
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('learned_header', 'learned_header', '1000 50 1'),
	('learned_value', 'learned_value', '10000 500 2 1');

ANALYZE sqlite_schema;

-- +goose Down
DELETE FROM alias WHERE class LIKE 'learned:%';
DROP TABLE learned_value;
DROP TABLE learned_header;

-- +goose Up
-- What happened to a tenant's sessions, in the order of the commits; the newest entries only.
CREATE TABLE change (
	tenant  BLOB    NOT NULL,
	number  INTEGER NOT NULL,
	kind    INTEGER NOT NULL,
	session TEXT    NOT NULL,
	turn    TEXT    NOT NULL,
	PRIMARY KEY (tenant, number)
) STRICT, WITHOUT ROWID;

-- The number of a tenant's newest change.
CREATE TABLE change_count (
	tenant BLOB    NOT NULL PRIMARY KEY,
	newest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('change', 'change', '100000 4000 1'),
	('change_count', 'change_count', '50 1');

ANALYZE sqlite_schema;

-- +goose Down
DROP TABLE change_count;
DROP TABLE change;

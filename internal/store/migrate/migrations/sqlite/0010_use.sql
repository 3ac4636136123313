-- +goose Up
-- What was used, by hours since 1970: of turns that began in hours which are over, and of turns that were deleted.
CREATE TABLE use_hour (
	tenant         BLOB    NOT NULL,
	hour           INTEGER NOT NULL,
	api_key        TEXT    NOT NULL,
	model          TEXT    NOT NULL,
	upstream       TEXT    NOT NULL,
	turns          INTEGER NOT NULL,
	failed         INTEGER NOT NULL,
	input          INTEGER,
	output         INTEGER,
	cache_read     INTEGER,
	cache_write_5m INTEGER,
	cache_write_1h INTEGER,
	cost_usd       REAL    NOT NULL,
	unpriced       INTEGER NOT NULL,
	PRIMARY KEY (tenant, hour, api_key, model, upstream)
) STRICT, WITHOUT ROWID;

CREATE INDEX use_hour_hour ON use_hour (hour);

-- How long completed turns took: how many had their first byte, and their end, within so many milliseconds.
CREATE TABLE use_time (
	tenant   BLOB    NOT NULL,
	hour     INTEGER NOT NULL,
	upstream TEXT    NOT NULL,
	rung     INTEGER NOT NULL,
	firsts   INTEGER NOT NULL,
	wholes   INTEGER NOT NULL,
	PRIMARY KEY (tenant, hour, upstream, rung)
) STRICT, WITHOUT ROWID;

CREATE INDEX use_time_hour ON use_time (hour);

-- One row: turns that began before it are in the tables above, those from it on are not, unless they were deleted.
CREATE TABLE use_summed (
	up_to INTEGER NOT NULL
) STRICT;

INSERT INTO use_summed (up_to) VALUES (0);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('use_hour', 'use_hour', '100000 100000 50 10 2 1'),
	('use_hour', 'use_hour_hour', '100000 50'),
	('use_time', 'use_time', '100000 100000 50 10 1'),
	('use_time', 'use_time_hour', '100000 50');

ANALYZE sqlite_schema;

-- +goose Down
DROP TABLE use_summed;
DROP TABLE use_time;
DROP TABLE use_hour;

-- +goose Up
-- What was used, by hours since 1970: of turns that began in hours which are over, and of turns that were deleted.
CREATE TABLE use_hour (
	tenant         BYTEA   NOT NULL,
	hour           BIGINT NOT NULL,
	api_key        TEXT COLLATE "C" NOT NULL,
	model          TEXT COLLATE "C" NOT NULL,
	upstream       TEXT COLLATE "C" NOT NULL,
	turns          BIGINT NOT NULL,
	failed         BIGINT NOT NULL,
	input          BIGINT,
	output         BIGINT,
	cache_read     BIGINT,
	cache_write_5m BIGINT,
	cache_write_1h BIGINT,
	cost_usd       DOUBLE PRECISION NOT NULL,
	unpriced       BIGINT NOT NULL,
	PRIMARY KEY (tenant, hour, api_key, model, upstream)
);

CREATE INDEX use_hour_hour ON use_hour (hour);

-- How long completed turns took: how many had their first byte, and their end, within so many milliseconds.
CREATE TABLE use_time (
	tenant   BYTEA   NOT NULL,
	hour     BIGINT NOT NULL,
	upstream TEXT COLLATE "C" NOT NULL,
	rung     BIGINT NOT NULL,
	firsts   BIGINT NOT NULL,
	wholes   BIGINT NOT NULL,
	PRIMARY KEY (tenant, hour, upstream, rung)
);

CREATE INDEX use_time_hour ON use_time (hour);

-- One row: turns that began before it are in the tables above, those from it on are not, unless they were deleted.
CREATE TABLE use_summed (
	up_to BIGINT NOT NULL
);

INSERT INTO use_summed (up_to) VALUES (0);

-- +goose Down
DROP TABLE use_summed;
DROP TABLE use_time;
DROP TABLE use_hour;

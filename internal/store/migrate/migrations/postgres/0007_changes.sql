-- +goose Up
-- What happened to a tenant's sessions, in the order of the commits; the newest entries only.
CREATE TABLE change (
	tenant  BYTEA NOT NULL,
	number  BIGINT NOT NULL,
	kind    BIGINT NOT NULL,
	session TEXT COLLATE "C" NOT NULL,
	turn    TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant, number)
);

-- The number of a tenant's newest change. Every commit of the tenant moves it: there is room in its page for the next versions.
CREATE TABLE change_count (
	tenant BYTEA NOT NULL PRIMARY KEY,
	newest BIGINT NOT NULL
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE change_count;
DROP TABLE change;

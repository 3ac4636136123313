-- +goose Up
-- Several replicas: why another one stops a turn, and by what a request that is sent again names the first.
ALTER TABLE turn ADD COLUMN fence TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN retry_key BLOB;

-- Since when a replica has been heard of without a gap; 0 for one of an older version, which says less often that it lives.
ALTER TABLE replica ADD COLUMN since INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE replica DROP COLUMN since;
ALTER TABLE turn DROP COLUMN retry_key;
ALTER TABLE turn DROP COLUMN fence;

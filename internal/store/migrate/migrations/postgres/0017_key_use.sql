-- +goose Up
-- What a key has spent in a month is asked for while it is in use.
CREATE INDEX use_hour_key ON use_hour (tenant, api_key, hour);

-- +goose Down
DROP INDEX use_hour_key;

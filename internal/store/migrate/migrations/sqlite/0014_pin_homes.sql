-- +goose Up
-- Of an alias: which of its models the session got. And where a session that had to move began: it may go back.
ALTER TABLE pin ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE pin ADD COLUMN home TEXT NOT NULL DEFAULT '';
ALTER TABLE pin ADD COLUMN home_account TEXT NOT NULL DEFAULT '';
ALTER TABLE pin ADD COLUMN home_model TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE pin DROP COLUMN home_model;
ALTER TABLE pin DROP COLUMN home_account;
ALTER TABLE pin DROP COLUMN home;
ALTER TABLE pin DROP COLUMN model;

-- +goose Up
-- What sessions are told apart by where ids say nothing: parts of what was said, and what their requests are like.
ALTER TABLE session ADD COLUMN named TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN traits BLOB;
ALTER TABLE message ADD COLUMN marks BLOB;
ALTER TABLE chain ADD COLUMN sketch BLOB;

-- +goose Down
DELETE FROM chain WHERE kind > 1;
ALTER TABLE chain DROP COLUMN sketch;
ALTER TABLE message DROP COLUMN marks;
ALTER TABLE session DROP COLUMN traits;
ALTER TABLE session DROP COLUMN named;

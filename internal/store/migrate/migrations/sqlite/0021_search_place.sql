-- +goose Up
-- PostgreSQL's alone: FTS5 gives the newest documents first.
SELECT 1;

-- +goose Down
SELECT 1;

-- +goose Up
-- PostgreSQL keeps its own statistics.
SELECT 1;

-- +goose Down
SELECT 1;

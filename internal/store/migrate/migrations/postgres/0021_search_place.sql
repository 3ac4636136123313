-- +goose NO TRANSACTION
-- +goose Up
-- A tenant's newest documents are looked through before the index of words gathers all that have a word.
DROP INDEX CONCURRENTLY IF EXISTS search_doc_place;
CREATE INDEX CONCURRENTLY search_doc_place ON search_doc (tenant, id);

-- +goose Down
DROP INDEX search_doc_place;

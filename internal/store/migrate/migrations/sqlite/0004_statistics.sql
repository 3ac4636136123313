-- +goose Up
-- What SQLite is to think of the tables: a tenant has nearly all rows, and what stands behind it in an index tells them apart.
-- Left to itself it takes a tenant for a dozen rows, and rather reads all of them than to look one up and sort. The numbers need
-- not be right, only their order of size; they stay as they are.
ANALYZE sqlite_schema;

DELETE FROM sqlite_stat1;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('session', 'session', '100000 90000 1'),
	('session', 'session_activity', '100000 100000 50000 2 1'),
	('session', 'session_client_key', '100000 100000 1'),
	('session', 'session_parent', '10000 10000 5'),
	('session', 'session_root', '10000 10000 5'),
	('turn', 'sqlite_autoindex_turn_1', '1000000 1000000 1'),
	('turn', 'turn_session', '1000000 1000000 10 1'),
	('turn', 'turn_api_key', '1000000 1000000 100000 1'),
	('turn', 'turn_running', '100 100'),
	('turn', 'turn_retry', '10000 10000 2'),
	('message', 'sqlite_autoindex_message_1', '3000000 3000000 1'),
	('message', 'message_parent', '3000000 3000000 30 1'),
	('blob', 'sqlite_autoindex_blob_1', '1000000 1000000 1'),
	('chain', 'chain', '3000000 3000000 2 2 1'),
	('alias', 'alias', '200000 200000 100000 1'),
	('alias', 'alias_session', '200000 200000 2'),
	('pin', 'pin', '100000 100000 1 1'),
	('remote', 'remote', '100000 50000 1'),
	('remote', 'remote_session', '100000 100000 2 1'),
	('object', 'object', '100000 1 1'),
	('object', 'object_session', '100000 100000 10'),
	('search_doc', 'search_doc_message', '3000000 3000000 30 1');

ANALYZE sqlite_schema;

-- +goose Down
DELETE FROM sqlite_stat1;

ANALYZE sqlite_schema;

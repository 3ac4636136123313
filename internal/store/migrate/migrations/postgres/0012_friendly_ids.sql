-- +goose Up
-- Pages name a session by its friendly id.
CREATE INDEX session_friendly_id ON session (tenant, friendly_id);

-- +goose Down
DROP INDEX session_friendly_id;

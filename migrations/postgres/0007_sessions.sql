-- Whose sessions have ended, and when: users who were deactivated or deleted (so no reference), or changed the
-- password. Every server on the database looks here for sockets to close.

CREATE TABLE session_ends (
    id       TEXT   NOT NULL PRIMARY KEY,
    user_id  TEXT   NOT NULL,
    ended_at BIGINT NOT NULL
);

CREATE INDEX session_ends_ended_at ON session_ends (ended_at);

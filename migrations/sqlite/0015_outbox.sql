-- Events that consumers must not miss, from the commit of what they tell of until every consumer has passed them.

CREATE TABLE outbox (
    -- In the order of the commits, without gaps, see outbox_counter.
    position  INTEGER NOT NULL PRIMARY KEY,
    id        TEXT    NOT NULL,
    event_key TEXT    NOT NULL,
    -- The whole event as JSON.
    event     TEXT    NOT NULL
) STRICT;

-- The last position given away, in one row. Whoever takes positions holds the row until the end of their transaction, so
-- that no position becomes visible before a lower one.
CREATE TABLE outbox_counter (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO outbox_counter (one, last) VALUES (1, 0);

-- Until when an event like one that was published is dropped.
CREATE TABLE event_windows (
    -- The event's key and what it is about, as JSON.
    occurrence TEXT    NOT NULL PRIMARY KEY,
    ends_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event_consumers (
    name        TEXT    NOT NULL PRIMARY KEY,
    -- What it consumes: a JSON array of event keys.
    event_keys  TEXT    NOT NULL,
    -- It has passed every event up to here.
    position    INTEGER NOT NULL,
    -- The server that consumes for it, and until when no other may.
    lease_owner TEXT,
    lease_until INTEGER NOT NULL,
    -- Attempts begun at the event that comes next, when the next one is due, and why the last one failed.
    attempts    INTEGER NOT NULL,
    retry_at    INTEGER NOT NULL,
    last_error  TEXT,
    -- When a server that has this consumer last said so.
    seen_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events that a consumer failed at too often.
CREATE TABLE events_set_aside (
    consumer     TEXT    NOT NULL,
    position     INTEGER NOT NULL,
    event_id     TEXT    NOT NULL,
    event        TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    attempts     INTEGER NOT NULL,
    set_aside_at INTEGER NOT NULL,
    PRIMARY KEY (consumer, position)
) STRICT, WITHOUT ROWID;

-- Events that consumers must not miss, from the commit of what they tell of until every consumer has passed them.

CREATE TABLE outbox (
    -- In the order of the commits, without gaps, see outbox_counter.
    position  BIGINT  NOT NULL PRIMARY KEY,
    id        TEXT    NOT NULL,
    event_key TEXT    NOT NULL,
    -- The whole event as JSON.
    event     TEXT    NOT NULL
);

-- The last position given away, in one row. Whoever takes positions holds the row until the end of their transaction, so
-- that no position becomes visible before a lower one.
CREATE TABLE outbox_counter (
    one  BIGINT  NOT NULL PRIMARY KEY CHECK (one = 1),
    last BIGINT  NOT NULL
);

INSERT INTO outbox_counter (one, last) VALUES (1, 0);

-- Until when an event like one that was published is dropped.
CREATE TABLE event_windows (
    -- The event's key and what it is about, as JSON.
    occurrence TEXT    NOT NULL PRIMARY KEY,
    ends_at    BIGINT  NOT NULL
);

CREATE TABLE event_consumers (
    name        TEXT    NOT NULL PRIMARY KEY,
    -- What it consumes: a JSON array of event keys.
    event_keys  TEXT    NOT NULL,
    -- It has passed every event up to here.
    position    BIGINT  NOT NULL,
    -- The server that consumes for it, and until when no other may.
    lease_owner TEXT,
    lease_until BIGINT  NOT NULL,
    -- Attempts begun at the event that comes next, when the next one is due, and why the last one failed.
    attempts    BIGINT  NOT NULL,
    retry_at    BIGINT  NOT NULL,
    last_error  TEXT,
    -- When a server that has this consumer last said so.
    seen_at     BIGINT  NOT NULL
);

-- Events that a consumer failed at too often.
CREATE TABLE events_set_aside (
    consumer     TEXT    NOT NULL,
    position     BIGINT  NOT NULL,
    event_id     TEXT    NOT NULL,
    event        TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    attempts     BIGINT  NOT NULL,
    set_aside_at BIGINT  NOT NULL,
    PRIMARY KEY (consumer, position)
);

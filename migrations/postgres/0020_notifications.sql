-- Notifications: how people want to be told, by which ways, what they were told, and what is still to be sent.

-- A person without a row of an event has the event's defaults.
CREATE TABLE notification_preferences (
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    event_key  TEXT    NOT NULL,
    is_enabled BOOLEAN NOT NULL,
    in_app     BOOLEAN NOT NULL,
    -- JSON array of the ids of the channels that are on.
    channels   TEXT    NOT NULL,
    updated_at BIGINT  NOT NULL,
    PRIMARY KEY (user_id, event_key)
);

CREATE INDEX notification_preferences_event ON notification_preferences (event_key, user_id);

-- Ways out of the house, one a person and channel. One that was given up keeps its row and none of its secrets.
CREATE TABLE notification_channels (
    id                   TEXT    NOT NULL PRIMARY KEY,
    user_id              TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    channel              TEXT    NOT NULL,
    -- Encrypted: a JSON object, and what its plugin wants back. NULL where there is none.
    config               TEXT,
    state                TEXT,
    -- For people: the account it was configured with, and the destination.
    account              TEXT,
    label                TEXT,
    is_enabled           BOOLEAN NOT NULL,
    is_verified          BOOLEAN NOT NULL,
    last_tested_at       BIGINT,
    last_success_at      BIGINT,
    last_failure_at      BIGINT,
    last_error           TEXT,
    consecutive_failures BIGINT  NOT NULL,
    created_at           BIGINT  NOT NULL,
    updated_at           BIGINT  NOT NULL,
    deleted_at           BIGINT,
    -- Grows whenever it is configured anew: what was begun with an earlier configuration says nothing of this one.
    version              BIGINT  NOT NULL,
    UNIQUE (user_id, channel)
);

CREATE INDEX notification_channels_channel ON notification_channels (channel);

-- What a person is told of an event, once.
CREATE TABLE notifications (
    id            TEXT    NOT NULL PRIMARY KEY,
    user_id       TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    event_id      TEXT    NOT NULL,
    event_key     TEXT    NOT NULL,
    category      TEXT    NOT NULL,
    severity      TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    deep_link     TEXT,
    resource_type TEXT,
    resource_id   TEXT,
    -- JSON of the card, with its version; NULL where the event makes none.
    presentation  TEXT,
    -- It shows in the inbox; otherwise it is there for what goes out by channels.
    surfaced      BOOLEAN NOT NULL,
    read_at       BIGINT,
    archived_at   BIGINT,
    created_at    BIGINT  NOT NULL,
    UNIQUE (event_id, user_id)
);

CREATE INDEX notifications_inbox ON notifications (user_id, created_at, id) WHERE surfaced;
CREATE INDEX notifications_unread ON notifications (user_id)
    WHERE surfaced AND read_at IS NULL AND archived_at IS NULL;

-- One message of a notification by one channel, at most once.
CREATE TABLE notification_deliveries (
    id                TEXT    NOT NULL PRIMARY KEY,
    user_id           TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    notification_id   TEXT    NOT NULL REFERENCES notifications (id) ON DELETE CASCADE,
    event_key         TEXT    NOT NULL,
    channel           TEXT    NOT NULL,
    status            TEXT    NOT NULL
        CHECK (status IN ('pending', 'sending', 'provider_accepted', 'failed', 'cancelled')),
    attempts          BIGINT  NOT NULL,
    -- NULL once it has ended, and while it is sent.
    next_attempt_at   BIGINT,
    last_error        TEXT,
    suppressed_reason TEXT,
    -- When it was last begun: its product can tell a repetition, so that it may be sent again after a crash.
    is_repeatable     BOOLEAN NOT NULL,
    created_at        BIGINT  NOT NULL,
    sent_at           BIGINT,
    completed_at      BIGINT,
    UNIQUE (notification_id, channel)
);

CREATE INDEX notification_deliveries_due ON notification_deliveries (next_attempt_at, created_at, id)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX notification_deliveries_sending ON notification_deliveries (status) WHERE status = 'sending';
CREATE INDEX notification_deliveries_ended ON notification_deliveries (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX notification_deliveries_user ON notification_deliveries (user_id);

-- Shows: what providers said last of those that somebody asked for.

CREATE TABLE show_statuses (
    provider         TEXT    NOT NULL,
    -- The provider's own.
    provider_show_id TEXT    NOT NULL,
    -- JSON: the status as the interface shows it.
    status           TEXT    NOT NULL,
    -- Of the last answer of the provider.
    checked_at       BIGINT  NOT NULL,
    -- Of the last question, answered or not: no show that fails is before one that was not asked as lately.
    tried_at         BIGINT  NOT NULL,
    -- When somebody asked for the show last.
    asked_at         BIGINT  NOT NULL,
    PRIMARY KEY (provider, provider_show_id)
);

CREATE INDEX show_statuses_tried ON show_statuses (tried_at);
CREATE INDEX show_statuses_asked ON show_statuses (asked_at);

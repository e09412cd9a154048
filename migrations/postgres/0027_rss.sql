-- RSS: feeds that are followed, the rules that choose from them, what was seen, decided and grabbed.

CREATE TABLE rss_feeds (
    id               TEXT    NOT NULL PRIMARY KEY,
    name             TEXT    NOT NULL,
    url              TEXT    NOT NULL,
    -- Seconds.
    refresh_interval BIGINT  NOT NULL,
    is_enabled       BOOLEAN NOT NULL,
    -- When it was last read, or said that nothing is new.
    last_fetched_at  BIGINT,
    -- What the site gave out with the document that was read last.
    etag             TEXT,
    last_modified    TEXT,
    -- It is not asked before; NULL: at once.
    next_fetch_at    BIGINT,
    -- Failures in a row, and the last one's reason.
    failures         BIGINT  NOT NULL,
    last_error       TEXT,
    -- JSON array: what was odd about the document that was read last.
    warnings         TEXT    NOT NULL,
    created_at       BIGINT  NOT NULL,
    updated_at       BIGINT  NOT NULL
);

CREATE INDEX rss_feeds_due ON rss_feeds (next_fetch_at);

CREATE TABLE rss_rules (
    id                            TEXT    NOT NULL PRIMARY KEY,
    feed_id                       TEXT    NOT NULL REFERENCES rss_feeds (id) ON DELETE CASCADE,
    name                          TEXT    NOT NULL,
    -- The simple filter of a rule without candidates.
    include_regex                 TEXT,
    exclude_regex                 TEXT,
    category_id                   TEXT,
    -- NULL: the engine's own.
    save_path                     TEXT,
    -- False: matches are recorded, nothing is grabbed.
    auto_download                 BOOLEAN NOT NULL,
    is_enabled                    BOOLEAN NOT NULL,
    import_mode                   TEXT    NOT NULL CHECK (import_mode IN ('legacy_direct', 'managed_intake')),
    storage_profile_id            TEXT,
    pre_migration_save_path       TEXT,
    media_type                    TEXT,
    -- What was known of the show when it was last looked up.
    show_status                   TEXT,
    show_status_provider          TEXT,
    show_status_provider_id       TEXT,
    show_status_checked_at        BIGINT,
    show_status_recommendation    TEXT,
    show_first_air_date           TEXT,
    show_last_air_date            TEXT,
    show_next_episode_air_date    TEXT,
    -- JSON array.
    show_status_warnings          TEXT    NOT NULL,
    allow_inactive_show_monitoring BOOLEAN NOT NULL,
    -- Set by the discovery of media.
    generated_by_discovery        BOOLEAN NOT NULL,
    discovery_template_id         TEXT,
    acquisition_template_id       TEXT,
    acquisition_template_version  BIGINT,
    discovered_media_id           TEXT,
    -- When a person first changed a rule that was generated.
    user_modified_at              BIGINT,
    created_at                    BIGINT  NOT NULL,
    updated_at                    BIGINT  NOT NULL
);

CREATE INDEX rss_rules_feed ON rss_rules (feed_id);
CREATE INDEX rss_rules_show ON rss_rules (show_status_provider, show_status_provider_id);

-- What a rule prefers, first to last.
CREATE TABLE rss_candidates (
    id              TEXT    NOT NULL PRIMARY KEY,
    rule_id         TEXT    NOT NULL REFERENCES rss_rules (id) ON DELETE CASCADE,
    priority_order  BIGINT  NOT NULL,
    name            TEXT    NOT NULL,
    description     TEXT,
    is_enabled      BOOLEAN NOT NULL,
    match_type      TEXT    NOT NULL,
    pattern         TEXT,
    -- JSON.
    required_terms  TEXT    NOT NULL,
    excluded_terms  TEXT    NOT NULL,
    quality_rules   TEXT    NOT NULL,
    size_rules      TEXT    NOT NULL,
    feed_scope      TEXT    NOT NULL,
    last_matched_at BIGINT,
    match_count     BIGINT  NOT NULL,
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL
);

CREATE INDEX rss_candidates_rule ON rss_candidates (rule_id, priority_order);

-- Every item that a feed has shown.
CREATE TABLE rss_history (
    id                  TEXT    NOT NULL PRIMARY KEY,
    feed_id             TEXT    NOT NULL REFERENCES rss_feeds (id) ON DELETE CASCADE,
    item_guid           TEXT    NOT NULL,
    -- The guid, or of a long one its digest: indexes hold no long texts.
    guid_key            TEXT    NOT NULL,
    title               TEXT    NOT NULL,
    link                TEXT    NOT NULL,
    magnet              TEXT,
    info_hash           TEXT,
    -- Bytes.
    size_bytes          BIGINT,
    matched             BOOLEAN NOT NULL,
    downloaded          BOOLEAN NOT NULL,
    -- Somebody wants it again: the next poll takes it for new.
    regrab_requested_at BIGINT,
    created_at          BIGINT  NOT NULL,
    -- When the feed last showed it, to the day: what is still shown is not forgotten.
    seen_at             BIGINT  NOT NULL,
    UNIQUE (feed_id, guid_key)
);

CREATE INDEX rss_history_newest ON rss_history (feed_id, created_at, id);
CREATE INDEX rss_history_hash ON rss_history (info_hash);
CREATE INDEX rss_history_seen ON rss_history (seen_at);

-- A torrent that is to be handed to a client, or was. It is there before the client is asked.
CREATE TABLE rss_grabs (
    id              TEXT    NOT NULL PRIMARY KEY,
    -- NULL: a person asked for it.
    rule_id         TEXT    REFERENCES rss_rules (id) ON DELETE CASCADE,
    history_id      TEXT    REFERENCES rss_history (id) ON DELETE SET NULL,
    candidate_id    TEXT,
    -- The candidate's place; 0 without one.
    priority_order  BIGINT  NOT NULL,
    -- Which release it is, apart from its quality; NULL when the title does not say.
    identity        TEXT,
    title           TEXT    NOT NULL,
    -- The title without case.
    title_key       TEXT    NOT NULL,
    info_hash       TEXT,
    -- A magnet link, or the address of a .torrent.
    source          TEXT    NOT NULL,
    save_path       TEXT,
    state           TEXT    NOT NULL CHECK (state IN ('pending', 'done', 'failed', 'superseded', 'reset')),
    -- Times that a client was asked.
    attempts        BIGINT  NOT NULL,
    -- The engine that was asked first, so that it is asked again.
    engine_id       TEXT,
    next_attempt_at BIGINT  NOT NULL,
    -- Why the last attempt failed.
    error           TEXT,
    -- Under which hash the client has it.
    torrent_hash    TEXT,
    -- The torrent that it took the place of, until that is removed.
    retires         TEXT,
    created_at      BIGINT  NOT NULL,
    ended_at        BIGINT 
);

CREATE UNIQUE INDEX rss_grabs_once ON rss_grabs (info_hash) WHERE state IN ('pending', 'done');
CREATE UNIQUE INDEX rss_grabs_deciding ON rss_grabs (rule_id, identity, priority_order) WHERE state = 'pending';
CREATE INDEX rss_grabs_due ON rss_grabs (state, next_attempt_at);
CREATE INDEX rss_grabs_history ON rss_grabs (history_id);
CREATE INDEX rss_grabs_title ON rss_grabs (rule_id, title_key);
CREATE INDEX rss_grabs_torrent ON rss_grabs (torrent_hash);
CREATE INDEX rss_grabs_retires ON rss_grabs (retires);

-- What a rule with candidates made of an item.
CREATE TABLE rss_evaluations (
    id                         TEXT    NOT NULL PRIMARY KEY,
    rule_id                    TEXT    NOT NULL REFERENCES rss_rules (id) ON DELETE CASCADE,
    item_guid                  TEXT    NOT NULL,
    matched_candidate_id       TEXT,
    matched_candidate_priority BIGINT,
    result                     TEXT    NOT NULL,
    action_taken               TEXT    NOT NULL,
    torrent_hash               TEXT,
    -- JSON.
    trace                      TEXT    NOT NULL,
    grab_id                    TEXT    REFERENCES rss_grabs (id) ON DELETE SET NULL,
    created_at                 BIGINT  NOT NULL
);

CREATE INDEX rss_evaluations_newest ON rss_evaluations (rule_id, created_at, id);
CREATE INDEX rss_evaluations_age ON rss_evaluations (created_at);
CREATE INDEX rss_evaluations_grab ON rss_evaluations (grab_id);

-- The release that a rule has: only a better one takes its place.
CREATE TABLE rss_holds (
    rule_id        TEXT    NOT NULL REFERENCES rss_rules (id) ON DELETE CASCADE,
    identity       TEXT    NOT NULL,
    priority_order BIGINT  NOT NULL,
    release_title  TEXT    NOT NULL,
    torrent_hash   TEXT,
    -- False: the client had the torrent already, so it is not ours to remove.
    is_ours        BOOLEAN NOT NULL,
    updated_at     BIGINT  NOT NULL,
    PRIMARY KEY (rule_id, identity)
);

CREATE INDEX rss_holds_torrent ON rss_holds (torrent_hash);

-- Which suggestions were taken over, and from what.
CREATE TABLE rss_smart_templates (
    id                   TEXT    NOT NULL PRIMARY KEY,
    rule_id              TEXT    NOT NULL REFERENCES rss_rules (id) ON DELETE CASCADE,
    source_name          TEXT,
    -- JSON.
    parsed_metadata      TEXT    NOT NULL,
    generated_candidates TEXT    NOT NULL,
    confidence_score     DOUBLE PRECISION,
    user_edited          BOOLEAN NOT NULL,
    created_at           BIGINT  NOT NULL
);

CREATE INDEX rss_smart_templates_rule ON rss_smart_templates (rule_id);

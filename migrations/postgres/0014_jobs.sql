-- Jobs: what runs in the background for people and areas, and what each of them told. A worker holds a job by a lease; what it
-- writes of the job is fenced by lease_owner and claim.

CREATE TABLE platform_jobs (
    id                    TEXT    NOT NULL PRIMARY KEY,
    type                  TEXT    NOT NULL,
    name                  TEXT,
    description           TEXT,
    module_key            TEXT    NOT NULL,
    workspace_key         TEXT,
    status                TEXT    NOT NULL CHECK (status IN ('scheduled', 'queued', 'waiting', 'blocked', 'running', 'pausing',
        'paused', 'retrying', 'completed', 'completed_with_warnings', 'failed', 'cancelling', 'cancelled', 'skipped', 'expired')),
    phase                 TEXT,
    -- 0 to 100.
    progress_percent      BIGINT  NOT NULL,
    progress_current      BIGINT,
    progress_total        BIGINT,
    progress_unit         TEXT,
    status_message_key    TEXT,
    -- JSON.
    status_message_params TEXT,
    source                TEXT    NOT NULL,
    resource_type         TEXT,
    resource_id           TEXT,
    library_id            TEXT,
    media_item_id         TEXT,
    -- The higher, the earlier.
    priority              BIGINT  NOT NULL,
    -- From 1.
    attempt               BIGINT  NOT NULL,
    max_attempts          BIGINT  NOT NULL,
    -- NULL: the service itself, or a user since deleted.
    created_by_id         TEXT    REFERENCES users (id) ON DELETE SET NULL,
    correlation_id        TEXT,
    -- Of the active jobs one at most has it.
    idempotency_key       TEXT,
    parent_job_id         TEXT    REFERENCES platform_jobs (id) ON DELETE SET NULL,
    -- The uppermost of its parents, or itself. It may be deleted before.
    root_job_id           TEXT    NOT NULL,
    -- The name of the schedule that made it.
    schedule_id           TEXT,
    -- The key of a permission; NULL: none is needed to see it.
    required_permission   TEXT,
    -- public, module or own
    visibility_scope      TEXT    NOT NULL,
    cancellable           BOOLEAN NOT NULL,
    pausable              BOOLEAN NOT NULL,
    resumable             BOOLEAN NOT NULL,
    retryable             BOOLEAN NOT NULL,
    timeout_seconds       BIGINT,
    -- JSON, for the handler alone: never shown.
    input                 TEXT,
    checkpoint            TEXT,
    -- JSON without secrets, as people see it.
    input_summary         TEXT,
    result_summary        TEXT,
    warnings              TEXT,
    metrics               TEXT,
    metadata              TEXT,
    error_code            TEXT,
    error_message         TEXT,
    -- host:pid of the last one.
    worker_id             TEXT,
    -- Who holds it now, and until when unless that is prolonged.
    lease_owner           TEXT,
    lease_until           BIGINT,
    -- Rises whenever somebody takes it.
    claim                 BIGINT  NOT NULL,
    -- The last sign of life its handler gave.
    heartbeat_at          BIGINT,
    -- When it was told that there was none for long.
    stalled_at            BIGINT,
    -- Of its latest event.
    last_sequence         BIGINT  NOT NULL,
    -- Not to be begun before.
    run_after             BIGINT,
    scheduled_for         BIGINT,
    queued_at             BIGINT  NOT NULL,
    started_at            BIGINT,
    completed_at          BIGINT,
    failed_at             BIGINT,
    cancelled_at          BIGINT,
    paused_at             BIGINT,
    retry_at              BIGINT,
    created_at            BIGINT  NOT NULL,
    updated_at            BIGINT  NOT NULL
);

CREATE UNIQUE INDEX platform_jobs_idempotency ON platform_jobs (idempotency_key)
    WHERE idempotency_key IS NOT NULL AND status IN ('scheduled', 'queued', 'waiting', 'blocked', 'running', 'pausing', 'paused',
        'retrying', 'cancelling');
-- What is to be begun next, and what is held.
CREATE INDEX platform_jobs_queue ON platform_jobs (type, priority DESC, queued_at, id) WHERE status = 'queued';
CREATE INDEX platform_jobs_held ON platform_jobs (lease_owner, lease_until) WHERE status IN ('running', 'pausing', 'cancelling');
CREATE INDEX platform_jobs_status ON platform_jobs (status, updated_at);
CREATE INDEX platform_jobs_created ON platform_jobs (created_at, id);
CREATE INDEX platform_jobs_module ON platform_jobs (module_key, created_at);
CREATE INDEX platform_jobs_parent ON platform_jobs (parent_job_id, created_at);
CREATE INDEX platform_jobs_schedule ON platform_jobs (schedule_id, created_at);
CREATE INDEX platform_jobs_creator ON platform_jobs (created_by_id);

CREATE TABLE platform_job_events (
    id                TEXT   NOT NULL PRIMARY KEY,
    job_id            TEXT   NOT NULL REFERENCES platform_jobs (id) ON DELETE CASCADE,
    -- From 1, without gaps.
    sequence          BIGINT NOT NULL,
    -- debug, info, warning, error or success
    level             TEXT   NOT NULL,
    event_type        TEXT   NOT NULL,
    message_key       TEXT,
    -- JSON.
    message_params    TEXT,
    sanitized_message TEXT,
    progress          BIGINT,
    -- JSON.
    metadata          TEXT,
    created_at        BIGINT NOT NULL,
    UNIQUE (job_id, sequence)
);

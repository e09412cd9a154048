-- What every area shares: settings and the audit trail.

CREATE TABLE settings (
    key        TEXT    NOT NULL PRIMARY KEY,
    -- Any JSON value.
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Never updated and never deleted by the service. A row outlives its user, without naming them.
CREATE TABLE audit_logs (
    id          TEXT    NOT NULL PRIMARY KEY,
    -- NULL: the system itself, somebody unknown, or a user since deleted.
    user_id     TEXT    REFERENCES users (id) ON DELETE SET NULL,
    action      TEXT    NOT NULL,
    object_type TEXT,
    object_id   TEXT,
    result      TEXT    NOT NULL CHECK (result IN ('success', 'failure')),
    ip_address  TEXT,
    user_agent  TEXT,
    -- A JSON object.
    metadata    TEXT,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_logs_user ON audit_logs (user_id);
CREATE INDEX audit_logs_action ON audit_logs (action, created_at, id);
CREATE INDEX audit_logs_created_at ON audit_logs (created_at, id);

-- Accounts: who may sign in, what they may do, and the credentials issued to them.
-- Ids are UUID text, instants unix milliseconds, booleans 0/1, lists JSON text.

CREATE TABLE users (
    id                    TEXT    NOT NULL PRIMARY KEY,
    username              TEXT    NOT NULL UNIQUE,
    email                 TEXT    NOT NULL UNIQUE,
    display_name          TEXT,
    -- IANA zone; NULL follows the device.
    timezone              TEXT,
    -- Argon2id in PHC form.
    password_hash         TEXT    NOT NULL,
    is_active             INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    is_system             INTEGER NOT NULL DEFAULT 0 CHECK (is_system IN (0, 1)),
    last_login_at         INTEGER,
    -- Consecutive failures since the last full login.
    failed_login_attempts INTEGER NOT NULL DEFAULT 0,
    -- Encrypted; set while two-factor is on or being set up.
    totp_secret           TEXT,
    totp_enabled          INTEGER NOT NULL DEFAULT 0 CHECK (totp_enabled IN (0, 1)),
    -- JSON array of SHA-256 hex.
    recovery_codes        TEXT    NOT NULL DEFAULT '[]',
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL
) STRICT;

CREATE INDEX users_created_at ON users (created_at, id);

CREATE TABLE roles (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    description TEXT,
    is_system   INTEGER NOT NULL DEFAULT 0 CHECK (is_system IN (0, 1)),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE permissions (
    id          TEXT NOT NULL PRIMARY KEY,
    key         TEXT NOT NULL UNIQUE,
    description TEXT
) STRICT;

CREATE TABLE role_permissions (
    role_id       TEXT NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
    permission_id TEXT NOT NULL REFERENCES permissions (id) ON DELETE CASCADE,
    PRIMARY KEY (role_id, permission_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX role_permissions_permission ON role_permissions (permission_id);

CREATE TABLE user_roles (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role_id TEXT NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, role_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX user_roles_role ON user_roles (role_id);

CREATE TABLE refresh_tokens (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- SHA-256 hex of the secret half; the secret itself is stored nowhere.
    token_hash TEXT    NOT NULL UNIQUE,
    -- All tokens that descend from one login.
    family     TEXT    NOT NULL,
    user_agent TEXT,
    ip_address TEXT,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family);
CREATE INDEX refresh_tokens_expires_at ON refresh_tokens (expires_at);

CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL UNIQUE,
    -- Argon2id of the secret half.
    key_hash     TEXT    NOT NULL,
    -- JSON array of texts.
    scopes       TEXT    NOT NULL DEFAULT '[]',
    last_used_at INTEGER,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX api_keys_user ON api_keys (user_id, created_at);

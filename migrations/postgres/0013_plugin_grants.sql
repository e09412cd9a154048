-- Hosts of its own that an administrator lets a plugin reach, beside what its configurations name. They go with the file: when
-- the id is given to another one, they are gone.

CREATE TABLE plugin_grants (
    -- The id of the plugin.
    id         TEXT    NOT NULL,
    -- An origin, `https://host` or `https://host:port`.
    host       TEXT    NOT NULL,
    granted_at BIGINT NOT NULL,
    PRIMARY KEY (id, host)
);

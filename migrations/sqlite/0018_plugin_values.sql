-- What plugins keep, and which interfaces an administrator lets them use.

CREATE TABLE plugin_values (
    -- The id of the plugin. They stay with the id, whichever file has it.
    plugin TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (plugin, key)
) STRICT, WITHOUT ROWID;

-- As in plugin_grants, they go when the id is given to another file.
CREATE TABLE plugin_capabilities (
    -- The id of the plugin.
    id         TEXT    NOT NULL,
    -- The word it asks by, `torrents` say.
    capability TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (id, capability)
) STRICT, WITHOUT ROWID;

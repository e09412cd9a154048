-- Which file of the plugins directory an id belongs to: the one that had it first. What is stored under an id, passwords among
-- it, is handed to the plugin that provides it, so an id goes to another file only when an administrator accepts that file.

CREATE TABLE plugin_pins (
    -- The id the plugin gives itself: an engine kind, a channel.
    id        TEXT    NOT NULL PRIMARY KEY,
    -- Its file's name.
    file      TEXT    NOT NULL,
    pinned_at BIGINT  NOT NULL
);

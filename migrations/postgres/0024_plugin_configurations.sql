-- What an administrator entered for a plugin as a whole.

CREATE TABLE plugin_configurations (
    -- The id of the plugin. It stays with the id, whichever file has it.
    plugin     TEXT   NOT NULL PRIMARY KEY,
    -- A JSON object, encrypted as a whole: which of its fields are secret only the plugin's schema tells.
    sealed     TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

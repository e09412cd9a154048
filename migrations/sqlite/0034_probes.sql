-- Files that are looked into: which, and when. What a look finds stands in `media_files` already.

-- It is looked into no earlier: milliseconds since 1970.
ALTER TABLE media_files ADD COLUMN probe_after INTEGER NOT NULL DEFAULT 0;

-- What is still to be looked into, in that order.
CREATE INDEX media_files_unprobed ON media_files (probe_attempts, probe_after, id)
    WHERE probed_at IS NULL AND probe_error IS NULL;
-- What could not be looked into.
CREATE INDEX media_files_unreadable ON media_files (item_id) WHERE probe_error IS NOT NULL;

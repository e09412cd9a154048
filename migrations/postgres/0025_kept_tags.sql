-- Tags are also kept of torrents that came to their client by another way: when those were added is not known here.

-- When the row was written: tells it from a later one of the same torrent.
ALTER TABLE torrent_intake ADD COLUMN noted_at BIGINT;
UPDATE torrent_intake SET noted_at = added_at;
ALTER TABLE torrent_intake ALTER COLUMN noted_at SET NOT NULL;
-- NULL: the torrent was not added through this service.
ALTER TABLE torrent_intake ALTER COLUMN added_at DROP NOT NULL;

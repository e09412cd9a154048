-- Paths of torrent clients that see the server's directories elsewhere.

-- JSON array of {remote, local}: a directory as the client and as this server sees it.
ALTER TABLE torrent_engines ADD COLUMN path_mappings TEXT NOT NULL DEFAULT '[]';
-- The mappings by which the paths in its rows of torrent_snapshots were made.
ALTER TABLE torrent_engines ADD COLUMN rows_mapped_by TEXT NOT NULL DEFAULT '[]';

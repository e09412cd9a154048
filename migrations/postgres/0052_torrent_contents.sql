-- The files of torrents that were added through this service, by the bytes of their names: a client may tell them otherwise.

-- A line for the name, one for each file with its size before its path; bytes that are no plain ASCII as `%xx`. NULL: not known.
ALTER TABLE torrent_intake ADD COLUMN contents TEXT;

-- Where the data of a torrent lay when its row was written; absolute, as its client told it. NULL: not written yet.
ALTER TABLE torrent_snapshots ADD COLUMN content_path TEXT;

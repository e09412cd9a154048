-- When an engine was deleted. Such a row holds nothing that was configured and is nobody's: it stays until the rows of its
-- torrents are gone, which are removed a few hundred at a time.
ALTER TABLE torrent_engines ADD COLUMN deleted_at INTEGER;

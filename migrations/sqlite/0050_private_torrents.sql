-- Whether a torrent is private, as the metadata says that was read when it was added. NULL: nobody here has read it.
ALTER TABLE torrent_intake ADD COLUMN is_private INTEGER CHECK (is_private IN (0, 1));

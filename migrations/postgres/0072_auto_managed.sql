-- Whether a torrent's category chooses where its data lies, for clients that do not keep that themselves. NULL: nobody said.
ALTER TABLE torrent_intake ADD COLUMN auto_managed BOOLEAN;

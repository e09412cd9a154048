-- Files that people have had forgotten: no scan finds them again.

CREATE TABLE media_ignored (
    id         TEXT NOT NULL PRIMARY KEY,
    library_id TEXT NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    -- That of a file, or of a folder with all that lies below it.
    place      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX media_ignored_place ON media_ignored (library_id, place);

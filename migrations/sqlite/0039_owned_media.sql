-- What people own of a film or a series is found by these.

CREATE INDEX media_items_series ON media_items (series_titledb_id) WHERE series_titledb_id IS NOT NULL;
-- Items that are listed by another name than their title.
CREATE INDEX media_items_listed ON media_items (title) WHERE sort_title IS NOT NULL;

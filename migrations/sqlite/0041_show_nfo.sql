-- Which series the file `tvshow.nfo` of a show's folder said last that it is. What it says again is not taken again: people may have said otherwise.
ALTER TABLE media_shows ADD COLUMN nfo_titledb_id TEXT;

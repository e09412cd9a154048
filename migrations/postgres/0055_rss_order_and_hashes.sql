-- The place of an item in the document that first showed it: items of one fetch are in its order.
ALTER TABLE rss_history ADD COLUMN place BIGINT NOT NULL DEFAULT 0;

DROP INDEX rss_history_newest;
CREATE INDEX rss_history_newest ON rss_history (feed_id, created_at DESC, place);

-- Digits of a link were taken for the info-hash, and may be the key of a member: what a client has is told by that, the rest is
-- not known.
UPDATE rss_history
SET info_hash = (SELECT g.torrent_hash FROM rss_grabs g
    WHERE g.history_id = rss_history.id AND g.torrent_hash IS NOT NULL ORDER BY g.created_at DESC, g.id DESC LIMIT 1)
WHERE info_hash IS NOT NULL AND magnet IS NULL AND LOWER(link) LIKE '%' || info_hash || '%';

-- Whether the lists of the media libraries are still what somebody has read: two readers who see the same stamps see the
-- same items.

CREATE TABLE media_stamps (
    -- There is one row.
    one     BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Another one whenever an item came, went, or is listed otherwise: the transaction that did it last.
    items   BIGINT NOT NULL,
    -- Another one whenever `updated_at` of an item is another one, which happens far more often.
    touched BIGINT NOT NULL
);
INSERT INTO media_stamps (one, items, touched) VALUES (1, 0, 0);

-- One row of all writers, locked as the last thing of each, so that no two of them wait for each other.
CREATE FUNCTION media_items_stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_ARGV[0] = 'touched' THEN
        UPDATE media_stamps SET touched = txid_current() WHERE touched <> txid_current();
    ELSE
        UPDATE media_stamps SET items = txid_current() WHERE items <> txid_current();
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER media_items_came AFTER INSERT OR DELETE ON media_items
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION media_items_stamp('items');
CREATE CONSTRAINT TRIGGER media_items_changed AFTER UPDATE OF library_id, directory_id, media_type, title, title_key, letter, year,
    season, match_status, duplicate_group_id, series_titledb_id, created_at ON media_items
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.library_id, OLD.directory_id, OLD.media_type, OLD.title, OLD.title_key, OLD.letter, OLD.year, OLD.season,
            OLD.match_status, OLD.duplicate_group_id, OLD.series_titledb_id, OLD.created_at)
        IS DISTINCT FROM (NEW.library_id, NEW.directory_id, NEW.media_type, NEW.title, NEW.title_key, NEW.letter, NEW.year, NEW.season,
            NEW.match_status, NEW.duplicate_group_id, NEW.series_titledb_id, NEW.created_at))
    EXECUTE FUNCTION media_items_stamp('items');
CREATE CONSTRAINT TRIGGER media_items_touched AFTER UPDATE OF updated_at ON media_items
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.updated_at <> NEW.updated_at)
    EXECUTE FUNCTION media_items_stamp('touched');

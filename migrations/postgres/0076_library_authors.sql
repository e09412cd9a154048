-- What a library does by itself (names, pictures, notes) it does for a person, and only what that person may. Not a reference: who set it
-- up is still known when their account is gone.

-- The user who last said what the library does. NULL: nobody knows, and the library does nothing by itself until somebody saves it again.
ALTER TABLE media_libraries ADD COLUMN author_id TEXT;

-- Of libraries from before: whoever made it, where the audit trail has that and nobody else ever changed it.
UPDATE media_libraries SET author_id = (
    SELECT MIN(a.user_id) FROM audit_logs a
    WHERE a.object_type = 'media_library' AND a.object_id = media_libraries.id
        AND a.action IN ('media.library.create', 'media.library.update')
    GROUP BY a.object_id
    HAVING COUNT(DISTINCT a.user_id) = 1 AND COUNT(a.user_id) = COUNT(*)
        AND SUM(CASE WHEN a.action = 'media.library.create' THEN 1 ELSE 0 END) > 0
);

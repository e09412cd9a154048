-- Why a refresh token is revoked: exchanged for the next one of its family, or ended by a new password, a logout or a
-- deactivation. Only the former, presented again, says that two parties hold it. An exchange makes the next token in the
-- same instant.
ALTER TABLE refresh_tokens ADD COLUMN rotated_at INTEGER;

UPDATE refresh_tokens SET rotated_at = revoked_at WHERE EXISTS
    (SELECT 1 FROM refresh_tokens n WHERE n.family = refresh_tokens.family AND n.created_at = refresh_tokens.revoked_at);

-- Emails are unique whatever their case. Of addresses that differ in case alone, the oldest account keeps its own; each
-- other one gets an address that nobody reads, with its own id in front, and a row of the audit trail that tells the
-- former one. Nobody signs in by address, so all of them can still sign in, and set a new one.
-- Letters beyond ASCII are folded when an address is next written.
INSERT INTO audit_logs (id, action, object_type, object_id, result, metadata, created_at)
SELECT u.id, 'users.email_replaced', 'user', u.id, 'success', json_object('formerEmail', u.email), CAST(strftime('%s', 'now') AS INTEGER) * 1000
FROM users u WHERE EXISTS (SELECT 1 FROM users o WHERE LOWER(o.email) = LOWER(u.email)
    AND (o.created_at < u.created_at OR (o.created_at = u.created_at AND o.id < u.id)));

UPDATE users SET email = 'duplicate.' || id || '.' || email WHERE EXISTS
    (SELECT 1 FROM users o WHERE LOWER(o.email) = LOWER(users.email)
        AND (o.created_at < users.created_at OR (o.created_at = users.created_at AND o.id < users.id)));

ALTER TABLE users ADD COLUMN email_folded TEXT;

UPDATE users SET email_folded = LOWER(email);

CREATE UNIQUE INDEX users_email_folded_key ON users (email_folded);

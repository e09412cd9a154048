-- The step (30 s since 1970) of the last one-time password that let the user in: a code seen on its way is good once.

ALTER TABLE users ADD COLUMN totp_last_step BIGINT;

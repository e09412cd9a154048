-- That a letter was taken for an address never showed whose it is: each is confirmed by a code before anything else goes there.
UPDATE notification_channels SET is_verified = FALSE WHERE channel = 'email';

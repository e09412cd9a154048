-- What is older than an operator wants to keep is found without looking at all there is.
CREATE INDEX notifications_created ON notifications (created_at);

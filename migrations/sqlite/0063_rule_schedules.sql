-- Rules that run by a time table.

-- The time table of a rule with the trigger `schedule`: minute, hour, day of the month, month, day of the week.
ALTER TABLE automation_rules ADD COLUMN schedule TEXT;
-- The next due time is the first after this: when it last ran, or when the time table was stored or turned on. NULL without a time table.
ALTER TABLE automation_rules ADD COLUMN scheduled_from INTEGER;
-- While the torrents of a due time are being decided: engine and hash of the one decided last. NULL between due times.
ALTER TABLE automation_rules ADD COLUMN schedule_cursor TEXT;

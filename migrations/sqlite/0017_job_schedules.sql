-- What runs by itself: since when each schedule counts, so that a server that never runs for a whole interval asks for its jobs
-- all the same. (Jobs are removed when they are old, so their rows do not tell.)

CREATE TABLE platform_job_schedules (
    name         TEXT    NOT NULL PRIMARY KEY,
    -- When it last asked for a job, or was first seen.
    counts_since INTEGER NOT NULL
) STRICT;

INSERT INTO platform_job_schedules (name, counts_since)
    SELECT schedule_id, MAX(created_at) FROM platform_jobs WHERE schedule_id IS NOT NULL GROUP BY schedule_id;

DROP INDEX platform_jobs_schedule;

-- When something will be due next.
CREATE INDEX platform_jobs_due ON platform_jobs (run_after) WHERE status = 'queued' AND run_after IS NOT NULL;

-- Few jobs have a parent: the others need no place in its index.

DROP INDEX platform_jobs_parent;
CREATE INDEX platform_jobs_parent ON platform_jobs (parent_job_id, created_at) WHERE parent_job_id IS NOT NULL;

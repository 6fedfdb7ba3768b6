-- A page of jobs in any state, newest first.
--
-- $1      tenant
-- $2      the last id of the page before; NULL for the first page
-- $3..$5  kind, queue and module to keep; NULL for all
-- $6      how many at most
--
-- Index: jobs_by_tenant, backwards from $2; then one probe of each state table a row.
SELECT j.id, m.name AS module, v.name AS version, j.kind, q.name AS queue, j.priority, j.created_at,
       s.state, s.attempts, s.crashes,
       COALESCE(s.run_at, j.run_at) AS run_at,
       COALESCE(s.started_at, last.started_at) AS started_at,
       s.finished_at,
       COALESCE(s.class, last.class) AS class,
       COALESCE(s.message, last.message) AS message
FROM (
    SELECT job.id, job.module_id, job.kind, job.queue_id, job.priority, job.created_at,
           job.run_at, job.version_id
    FROM jobs AS job
    WHERE job.tenant_id = $1
      AND ($2::uuid IS NULL OR job.id < $2)
      AND ($3::text IS NULL OR job.kind = $3)
      AND ($4::text IS NULL OR job.queue_id IN
              (SELECT id FROM queues WHERE tenant_id = $1 AND name = $4))
      AND ($5::text IS NULL OR job.module_id IN
              (SELECT id FROM modules WHERE tenant_id = $1 AND name = $5))
    ORDER BY job.id DESC
    LIMIT $6
) AS j
JOIN modules AS m ON m.id = j.module_id
JOIN queues AS q ON q.id = j.queue_id
JOIN job_state AS s ON s.job_id = j.id
LEFT JOIN module_versions AS v ON v.id = COALESCE(s.version_id, j.version_id)
LEFT JOIN LATERAL (
    SELECT error.started_at, error.class, error.message
    FROM job_error AS error
    WHERE error.job_id = j.id
    ORDER BY error.run_lease DESC
    LIMIT 1
) AS last ON true
ORDER BY j.id DESC

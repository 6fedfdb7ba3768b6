-- A page of dead letters, newest first.
--
-- $1  tenant
-- $2  the last id of the page before; NULL for the first page
-- $3  ids to keep; empty for all
-- $4  kind to keep; NULL for all
-- $5  milliseconds since the end, at least; NULL for all
-- $6  how many at most
--
-- Index: dlq_by_tenant, backwards.
SELECT d.job_id, m.name AS module, d.version_name, d.kind, q.name AS queue, d.state, d.reason,
       d.class, d.code, d.message, d.attempts, d.crashes, d.finished_at, j.created_at
FROM dlq AS d
JOIN jobs AS j ON j.id = d.job_id
JOIN modules AS m ON m.id = d.module_id
JOIN queues AS q ON q.id = d.queue_id
WHERE d.tenant_id = $1
  AND ($2::uuid IS NULL OR d.job_id < $2)
  AND (cardinality($3::uuid[]) = 0 OR d.job_id = ANY ($3))
  AND ($4::text IS NULL OR d.kind = $4)
  AND ($5::bigint IS NULL OR d.finished_at <= now() - $5 * INTERVAL '1 millisecond')
ORDER BY d.job_id DESC
LIMIT $6

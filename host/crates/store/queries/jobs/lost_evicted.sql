-- Locks the leases of a worker that was declared dead.
--
-- $1  the worker
-- $2  how many at most
-- $3  the job behind which to look, or NULL
--
-- Shape as in lost_stale.sql.
SELECT l.job_id, l.run_lease, l.worker_id, l.attempts, l.crashes, j.options,
       k.settings AS kind_settings,
       (EXTRACT(EPOCH FROM now() - l.heartbeat_at) * 1000)::bigint AS silent_ms
FROM leases AS l
JOIN jobs AS j ON j.id = l.job_id
LEFT JOIN kinds AS k ON k.version_id = l.version_id AND k.name = j.kind
WHERE l.worker_id = $1
  AND EXISTS (
          SELECT FROM workers AS w
          WHERE w.id = $1 AND w.evicted_at IS NOT NULL
      )
  AND ($3::uuid IS NULL OR l.job_id > $3)
ORDER BY l.job_id
LIMIT $2
FOR UPDATE OF l SKIP LOCKED

-- Locks leases whose worker has gone with its process.
--
-- $1  milliseconds of grace
-- $2  how many at most
-- $3  the job behind which to look, or NULL
--
-- The grace is counted between two looks at the worker's session, not up to now: a first look may
-- be wrong, and after it nobody may have been there to look again.
--
-- A worker that renewed any lease since then lives, and has only lost its session: it may have no
-- connection left to take another one over.
-- Shape as in lost_stale.sql.
SELECT l.job_id, l.run_lease, l.worker_id, l.attempts, l.crashes, j.options,
       k.settings AS kind_settings,
       (EXTRACT(EPOCH FROM now() - l.heartbeat_at) * 1000)::bigint AS silent_ms
FROM leases AS l
JOIN jobs AS j ON j.id = l.job_id
LEFT JOIN kinds AS k ON k.version_id = l.version_id AND k.name = j.kind
WHERE l.worker_id IN (
          SELECT w.id
          FROM workers AS w
          WHERE w.gone_seen_at - w.gone_since >= $1 * INTERVAL '1 millisecond'
            AND NOT EXISTS (
                SELECT FROM leases AS beaten
                WHERE beaten.worker_id = w.id AND beaten.heartbeat_at >= w.gone_since
            )
      )
  AND ($3::uuid IS NULL OR l.job_id > $3)
ORDER BY l.job_id
LIMIT $2
FOR UPDATE OF l SKIP LOCKED

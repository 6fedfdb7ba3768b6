-- Locks leases whose worker has gone silent.
--
-- $1  milliseconds of silence
-- $2  how many at most
-- $3  the job behind which to look, or NULL
--
-- Reads the whole table, which holds no more rows than there are slots. Leases that someone is
-- finishing at this moment are not lost: SKIP LOCKED also lets two sweeps run at once.
-- In the order of the jobs, so that leases that cannot be ended do not hide those behind them.
SELECT l.job_id, l.run_lease, l.worker_id, l.attempts, l.crashes, j.options,
       k.settings AS kind_settings,
       (EXTRACT(EPOCH FROM now() - l.heartbeat_at) * 1000)::bigint AS silent_ms
FROM leases AS l
JOIN jobs AS j ON j.id = l.job_id
LEFT JOIN kinds AS k ON k.version_id = l.version_id AND k.name = j.kind
WHERE l.heartbeat_at < now() - $1 * INTERVAL '1 millisecond'
  AND ($3::uuid IS NULL OR l.job_id > $3)
ORDER BY l.job_id
LIMIT $2
FOR UPDATE OF l SKIP LOCKED

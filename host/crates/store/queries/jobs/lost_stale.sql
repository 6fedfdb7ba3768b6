-- Locks leases whose worker has gone silent.
--
-- $1  milliseconds of silence
-- $2  how many at most
--
-- Reads the whole table, which holds no more rows than there are slots. Leases that someone is
-- finishing at this moment are not lost: SKIP LOCKED also lets two sweeps run at once.
SELECT l.job_id, l.run_lease, l.worker_id, l.attempts, l.crashes, j.options,
       k.settings AS kind_settings
FROM leases AS l
JOIN jobs AS j ON j.id = l.job_id
LEFT JOIN kinds AS k ON k.version_id = l.version_id AND k.name = j.kind
WHERE l.heartbeat_at < now() - $1 * INTERVAL '1 millisecond'
LIMIT $2
FOR UPDATE OF l SKIP LOCKED

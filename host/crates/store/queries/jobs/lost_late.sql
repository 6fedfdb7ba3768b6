-- Locks leases whose deadline is over: their host should have ended them and did not.
--
-- $1  how many at most
--
-- Shape as in lost_stale.sql.
SELECT l.job_id, l.run_lease, l.worker_id, l.attempts, l.crashes, j.options,
       k.settings AS kind_settings
FROM leases AS l
JOIN jobs AS j ON j.id = l.job_id
LEFT JOIN kinds AS k ON k.version_id = l.version_id AND k.name = j.kind
WHERE l.deadline_at < now()
LIMIT $1
FOR UPDATE OF l SKIP LOCKED

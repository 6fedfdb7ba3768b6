-- The registered workers, the longest there first.
SELECT w.id, w.hostname, w.pid, w.version, w.queues, w.slots, w.occupied, w.leaked, w.draining,
       w.started_at, w.seen_at, w.gone_since,
       w.drain_requested_at IS NOT NULL AS drain_requested,
       w.evicted_at IS NOT NULL AS evicted,
       w.id IN (SELECT s.worker_id FROM worker_session AS s) AS session
FROM workers AS w
ORDER BY w.started_at, w.id

-- The registered workers, the longest there first.
SELECT id, hostname, pid, version, queues, slots, occupied, draining, started_at, seen_at
FROM workers
ORDER BY started_at, id

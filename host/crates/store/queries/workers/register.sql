-- Says that a worker is there, and what it is doing.
--
-- $1..$8  id, hostname, pid, version, queues, slots, occupied slots, draining
INSERT INTO workers (id, hostname, pid, version, queues, slots, occupied, draining)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE
SET hostname = EXCLUDED.hostname, pid = EXCLUDED.pid, version = EXCLUDED.version,
    queues = EXCLUDED.queues, slots = EXCLUDED.slots, occupied = EXCLUDED.occupied,
    draining = EXCLUDED.draining, seen_at = now()

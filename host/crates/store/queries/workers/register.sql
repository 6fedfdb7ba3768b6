-- Registers a worker. Once is enough: it renews its row over its own session from then on.
--
-- $1..$9  id, hostname, pid, version, queues, slots, occupied slots, draining, leaked slots
--
-- A registration that is sent again because its answer was lost changes nothing.
INSERT INTO workers (id, hostname, pid, version, queues, slots, occupied, draining, leaked)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO NOTHING

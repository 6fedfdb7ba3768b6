-- Says that a worker is there and what it is doing, over the session that is its presence. No row:
-- the worker was evicted, or its row is gone.
--
-- $1..$9  id, hostname, pid, version, queues, slots, occupied slots, draining, leaked slots
--
-- Whether this session holds the lock is looked up each time: between a worker and its session may
-- stand a pooler that hands statements to whichever session is free. Such a worker proves nothing,
-- and is found dead by its heartbeats only.
WITH session AS MATERIALIZED (
    SELECT d.oid AS database,
           EXISTS (
               SELECT FROM worker_session AS s
               WHERE s.worker_id = $1 AND s.pid = pg_backend_pid()
           ) AS locked
    FROM pg_database AS d
    WHERE d.datname = current_database()
)
UPDATE workers AS w
SET hostname = $2, pid = $3, version = $4, queues = $5, slots = $6, occupied = $7, draining = $8,
    leaked = $9,
    seen_at = now(),
    session_at = CASE WHEN locked THEN now() END,
    session_xid = CASE WHEN locked THEN pg_current_xact_id()::text::bigint END,
    session_kills = CASE WHEN locked THEN pg_stat_get_db_sessions_killed(database) END,
    gone_since = NULL,
    gone_seen_at = NULL
FROM session
WHERE w.id = $1 AND w.evicted_at IS NULL
RETURNING w.drain_requested_at IS NOT NULL AS drain, locked

-- Marks the workers whose session has ended together with their process, and unmarks those of
-- which that can no longer be said. Returns how many are marked.
--
-- $1  the worker that watches
-- $2  the first transaction that the session of the watcher has seen end
--
-- A lock that is free proves a dead process when nothing else can have ended its session:
-- 1. Postgres has not restarted, nor been replaced by a standby: the worker proved its lock in a
--    transaction that this session has seen end, and this session is still there.
-- 2. Nobody has terminated a session of this database since (`pg_terminate_backend`, a shutdown).
--    Sessions that end by an error are not counted: their number grows with each client that dies
--    in the middle of an answer, and no error ends a session that has the settings of enter.sql.
-- What is left is that the client closed the connection, or its network did.
--
-- $2 is true only of the session that holds the watcher's own lock: a pooler may give us another.
--
-- The locks are read later than the snapshot of the rows is taken. A worker that comes back in
-- between is marked in vain, and unmarked by its next word or by the next look; nobody is rescued
-- after one look.
WITH lock_held AS MATERIALIZED (
    SELECT worker_id, pid FROM worker_session
),
seen AS MATERIALIZED (
    SELECT w.id,
           COALESCE(
               w.session_xid >= $2
               AND w.session_kills = pg_stat_get_db_sessions_killed(d.oid)
               AND NOT EXISTS (SELECT FROM lock_held AS l WHERE l.worker_id = w.id)
               AND EXISTS (
                   SELECT FROM lock_held AS mine
                   WHERE mine.worker_id = $1 AND mine.pid = pg_backend_pid()),
               false
           ) AS gone
    FROM workers AS w
    JOIN pg_database AS d ON d.datname = current_database()
),
marked AS (
    UPDATE workers AS w
    SET gone_since = CASE WHEN seen.gone THEN COALESCE(w.gone_since, now()) END,
        gone_seen_at = CASE WHEN seen.gone THEN now() END
    FROM seen
    WHERE seen.id = w.id AND (seen.gone OR w.gone_since IS NOT NULL)
    RETURNING w.gone_since
)
SELECT count(*) FILTER (WHERE gone_since IS NOT NULL) FROM marked

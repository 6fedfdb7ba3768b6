-- Takes the leadership or renews it. No row: somebody else leads.
--
-- $1  worker
-- $2  milliseconds for which it is taken
--
-- It can be taken when nobody has it, when it was not renewed in time, and when the session of the
-- leader has ended. A leader that never had a session is left its time. Being wrong costs nothing,
-- because two leaders are harmless.
UPDATE leader
SET epoch = epoch + CASE WHEN worker_id = $1 THEN 0 ELSE 1 END,
    acquired_at = CASE WHEN worker_id = $1 THEN acquired_at ELSE now() END,
    worker_id = $1,
    expires_at = now() + $2 * INTERVAL '1 millisecond'
WHERE (
        worker_id IS NULL
        OR worker_id = $1
        OR expires_at < now()
        OR EXISTS (
            SELECT FROM workers AS w
            WHERE w.id = leader.worker_id
              AND w.session_at IS NOT NULL
              AND NOT EXISTS (SELECT FROM worker_session AS s WHERE s.worker_id = w.id)
        )
    )
  AND NOT EXISTS (SELECT FROM workers AS me WHERE me.id = $1 AND me.evicted_at IS NOT NULL)
RETURNING epoch

-- Makes the job claimable that waits for a callback, and keeps what the callback said for it. No
-- row: no job waits for this one, now or any more.
--
-- $1  the hash of the callback's token
-- $2  what it said
-- $3  the channel to notify
--
-- Index: the unique one on `suspended.token_hash`. Of a callback, the sweep of those that never
-- came and a cancel, each of which deletes the row, exactly one wins. A callback that comes before
-- the sweep is not late, whatever the clock says.
WITH taken AS (
    DELETE FROM suspended
    WHERE token_hash = $1
    RETURNING job_id, tenant_id, queue_id, priority, run_lease, attempts, crashes
),
moved AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, now(), run_lease, attempts, crashes
    FROM taken
    RETURNING queue_id
),
told AS (
    INSERT INTO checkpoints (job_id, tenant_id, run_lease, resumed_at, answer)
    SELECT job_id, tenant_id, run_lease, now(), $2
    FROM taken
    ON CONFLICT (job_id) DO UPDATE
    SET resumed_at = EXCLUDED.resumed_at, answer = EXCLUDED.answer
),
woken AS (
    SELECT pg_notify($3, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM moved)
)
SELECT job_id, (SELECT count(*) FROM woken) AS woken FROM taken

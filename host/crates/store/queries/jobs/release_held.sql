-- Makes jobs claimable again whose version is in quarantine no more, or that may run another one.
-- Returns how many.
--
-- $1  how many at most
-- $2  the channel to notify
--
-- Index: held_by_version: one probe to find each version, and then only jobs that can be released.
-- They keep their place in the line. A job that is claimable already, which must not be, is left
-- as it is there, so that it does not stand in the way of the others.
WITH RECURSIVE
version_held (id) AS (
    (SELECT version_id FROM held ORDER BY version_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT h.version_id FROM held AS h
        WHERE h.version_id > before.id
        ORDER BY h.version_id
        LIMIT 1
    )
    FROM version_held AS before
    WHERE before.id IS NOT NULL
),
free AS MATERIALIZED (
    SELECT found.job_id
    FROM version_held
    JOIN module_versions AS v ON v.id = version_held.id
    JOIN modules AS m ON m.id = v.module_id
    CROSS JOIN (VALUES (false), (true)) AS of (pinned)
    CROSS JOIN LATERAL (
        SELECT h.job_id
        FROM held AS h
        WHERE h.version_id = v.id AND h.pinned = of.pinned
        ORDER BY h.job_id
        LIMIT $1
        FOR UPDATE SKIP LOCKED
    ) AS found
    WHERE v.quarantined_at IS NULL
       OR v.deleted_at IS NOT NULL
       OR (NOT of.pinned AND m.current_version_id IS DISTINCT FROM v.id)
    LIMIT $1
),
taken AS (
    DELETE FROM held AS h
    USING free
    WHERE h.job_id = free.job_id
    RETURNING h.job_id, h.tenant_id, h.queue_id, h.priority, h.run_at, h.run_lease, h.attempts,
              h.crashes
),
moved AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes
    FROM taken
    ON CONFLICT DO NOTHING
    RETURNING queue_id
),
woken AS (
    SELECT pg_notify($2, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM moved)
)
SELECT count(*) AS released, (SELECT count(*) FROM woken) AS woken FROM taken

-- Puts claimable jobs of quarantined versions by, so that they are not in the way of others.
--
-- $1  queue ids
-- $2  how many jobs to look at in each, from its head
--
-- Index: ready_in_order; then a probe of `jobs`, `modules` and `module_versions` each. Only called
-- when a claim met nothing else. The lanes are locked as by a claim: two that delete the same rows
-- in different orders would deadlock.
WITH lane AS MATERIALIZED (
    SELECT id
    FROM queues
    WHERE id = ANY ($1::bigint[])
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
met AS MATERIALIZED (
    SELECT first.job_id, v.id AS version_id, j.version_id IS NOT NULL AS pinned
    FROM lane
    CROSS JOIN LATERAL (
        SELECT r.job_id
        FROM ready AS r
        WHERE r.queue_id = lane.id
        ORDER BY r.priority, r.run_at, r.job_id
        LIMIT $2
    ) AS first
    JOIN jobs AS j ON j.id = first.job_id
    JOIN modules AS m ON m.id = j.module_id
    JOIN module_versions AS v
      ON v.id = COALESCE(j.version_id, m.current_version_id)
     AND v.deleted_at IS NULL
     AND v.quarantined_at IS NOT NULL
),
taken AS (
    DELETE FROM ready AS r
    USING met
    WHERE r.job_id = met.job_id
    RETURNING r.job_id, r.tenant_id, r.queue_id, r.priority, r.run_at, r.run_lease, r.attempts,
              r.crashes, met.version_id, met.pinned
)
INSERT INTO held (job_id, tenant_id, queue_id, priority, version_id, pinned, run_at, run_lease,
                  attempts, crashes)
SELECT job_id, tenant_id, queue_id, priority, version_id, pinned, run_at, run_lease, attempts,
       crashes
FROM taken
ON CONFLICT DO NOTHING

-- Deletes dead letters with their jobs, oldest first. Returns how many.
--
-- $1  tenant
-- $2  ids to delete; empty for all
-- $3  kind to delete; NULL for all
-- $4  milliseconds since the end, at least; NULL for all
-- $5  how many at most
--
-- Attempts and logs leave with their partitions.
WITH condemned AS MATERIALIZED (
    SELECT d.job_id
    FROM dlq AS d
    WHERE d.tenant_id = $1
      AND (cardinality($2::uuid[]) = 0 OR d.job_id = ANY ($2))
      AND ($3::text IS NULL OR d.kind = $3)
      AND ($4::bigint IS NULL OR d.finished_at <= now() - $4 * INTERVAL '1 millisecond')
    ORDER BY d.job_id
    LIMIT $5
    FOR UPDATE SKIP LOCKED
),
purged AS (
    DELETE FROM dlq AS d
    USING condemned
    WHERE d.job_id = condemned.job_id
    RETURNING d.job_id
),
jobs_gone AS (
    DELETE FROM jobs AS j
    USING purged
    WHERE j.id = purged.job_id
),
checkpoints_gone AS (
    DELETE FROM checkpoints AS c
    USING purged
    WHERE c.job_id = purged.job_id
)
SELECT count(*) FROM purged

-- How many jobs that have not ended need a version, counted up to a bound.
--
-- $1  module
-- $2  the version, or NULL for any of the module
-- $3  the bound
--
-- A job that names no version needs the one that is current. Reads the waiting jobs: rare, and
-- on an operator's word.
SELECT count(*) FROM (
    SELECT
    FROM (
        SELECT job_id, NULL::uuid AS runs FROM ready
        UNION ALL
        SELECT job_id, NULL FROM scheduled
        UNION ALL
        SELECT job_id, NULL FROM held
        UNION ALL
        SELECT job_id, version_id FROM suspended
        UNION ALL
        SELECT job_id, version_id FROM leases
    ) AS live
    JOIN jobs AS j ON j.id = live.job_id
    JOIN modules AS m ON m.id = j.module_id
    WHERE j.module_id = $1
      AND ($2::uuid IS NULL
           OR COALESCE(live.runs, j.version_id, m.current_version_id) = $2)
    LIMIT $3
) AS counted

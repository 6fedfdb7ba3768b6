-- Notes the evidence of attempts that took their process with them, and puts the versions into
-- quarantine against which there is enough. Returns their ids.
--
-- $1, $2  job id and run_lease of each
-- $3      the code of such attempts
-- $4      of how many different jobs there must be evidence
-- $5      milliseconds for which evidence counts
-- $6      the reason to give
--
-- Called with the versions locked. Index: the primary key of `process_deaths`.
WITH death AS (
    SELECT DISTINCT a.version_id, a.job_id
    FROM unnest($1::uuid[], $2::bigint[]) AS given (job_id, run_lease)
    JOIN attempts AS a ON a.job_id = given.job_id AND a.run_lease = given.run_lease
    WHERE a.code = $3 AND a.version_id IS NOT NULL
),
noted AS (
    INSERT INTO process_deaths (version_id, job_id, died_at)
    SELECT version_id, job_id, now() FROM death
    ON CONFLICT (version_id, job_id) DO UPDATE SET died_at = EXCLUDED.died_at
),
guilty AS (
    SELECT evidence.version_id
    FROM (
        SELECT version_id, job_id FROM death
        UNION
        SELECT earlier.version_id, earlier.job_id
        FROM process_deaths AS earlier
        WHERE earlier.version_id IN (SELECT version_id FROM death)
          AND earlier.died_at > now() - $5 * INTERVAL '1 millisecond'
    ) AS evidence
    GROUP BY evidence.version_id
    HAVING count(*) >= $4
)
UPDATE module_versions AS v
SET quarantined_at = now(), quarantine_reason = $6
FROM guilty
WHERE v.id = guilty.version_id AND v.quarantined_at IS NULL
RETURNING v.id

-- Locks the versions of attempts that took their process with them, so that whoever finds the
-- evidence of one together with somebody else sees theirs.
--
-- $1, $2  job id and run_lease of each
-- $3      the code of such attempts
--
-- Index: the primary key of each partition of `attempts`.
SELECT v.id
FROM module_versions AS v
WHERE v.id IN (
    SELECT a.version_id
    FROM unnest($1::uuid[], $2::bigint[]) AS given (job_id, run_lease)
    JOIN attempts AS a ON a.job_id = given.job_id AND a.run_lease = given.run_lease
    WHERE a.code = $3
)
ORDER BY v.id
FOR NO KEY UPDATE

-- Whether a version is one of a job's module. No row: no such job.
--
-- $1  job id
-- $2  tenant
-- $3  version
SELECT EXISTS (
    SELECT FROM module_versions AS v
    WHERE v.id = $3 AND v.module_id = j.module_id AND v.deleted_at IS NULL
)
FROM jobs AS j
WHERE j.id = $1 AND j.tenant_id = $2

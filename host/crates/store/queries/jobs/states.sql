-- Where some jobs are.
--
-- $1  job ids
--
-- One probe of the primary key of each state table a job. `{schema}` as in enqueue.sql.
SELECT job_id, tenant_id, state
FROM {schema}.job_state
WHERE job_id = ANY ($1::uuid[])

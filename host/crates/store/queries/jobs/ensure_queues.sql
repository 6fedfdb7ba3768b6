-- Makes the queues that do not exist yet.
--
-- $1, $2  tenant and name of each, distinct and sorted
--
-- Only rows that are not there are tried, because a conflict costs a dead row.
-- `{schema}` as in enqueue.sql.
INSERT INTO {schema}.queues (tenant_id, name)
SELECT wanted.tenant_id, wanted.name
FROM unnest($1::uuid[], $2::text[]) AS wanted (tenant_id, name)
WHERE NOT EXISTS (
    SELECT FROM {schema}.queues AS q
    WHERE q.tenant_id = wanted.tenant_id AND q.name = wanted.name
)
ON CONFLICT (tenant_id, name) DO NOTHING

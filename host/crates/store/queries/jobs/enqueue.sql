-- Adds jobs, each to where its time puts it.
--
-- $1..$11  one array a column, distinct in id and sorted by it: two batches that share ids then
--          meet them in one order and cannot deadlock
-- $12      the channel to notify
--
-- Returns the ids that are new. Missing are those that existed before, and those whose queue does
-- not exist yet: queues are hardly ever new, so the caller makes them and asks again.
--
-- `{schema}` is put in by the caller: this statement also runs in other people's transactions,
-- whose search_path is theirs.
WITH given AS (
    SELECT g.*, q.id AS queue_id, COALESCE(g.run_at, now()) AS due_at
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[],
                $7::smallint[], $8::timestamptz[], $9::bigint[], $10::jsonb[], $11::bytea[])
         AS g (id, tenant_id, module_id, version_id, kind, queue, priority, run_at, deadline_ms,
               options, payload)
    JOIN {schema}.queues AS q ON q.tenant_id = g.tenant_id AND q.name = g.queue
),
created AS (
    INSERT INTO {schema}.jobs (id, tenant_id, module_id, version_id, kind, queue_id, priority,
                               run_at, deadline_ms, options, payload)
    SELECT id, tenant_id, module_id, version_id, kind, queue_id, priority,
           due_at, deadline_ms, options, payload
    FROM given
    ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant_id, queue_id, priority, run_at
),
due AS (
    INSERT INTO {schema}.ready (job_id, tenant_id, queue_id, priority, run_at)
    SELECT id, tenant_id, queue_id, priority, run_at
    FROM created
    WHERE run_at <= now()
    RETURNING queue_id
),
ahead AS (
    INSERT INTO {schema}.scheduled (job_id, tenant_id, queue_id, priority, due_at, reason)
    SELECT id, tenant_id, queue_id, priority, run_at, 'scheduled'
    FROM created
    WHERE run_at > now()
),
-- Once a queue, not once a job: every notifying commit takes a lock over the whole database.
woken AS (
    SELECT pg_notify($12, 'ready:' || q.name)
    FROM {schema}.queues AS q
    WHERE q.id IN (SELECT queue_id FROM due)
)
SELECT id, run_at <= now() AS due, (SELECT count(*) FROM woken) AS woken
FROM created

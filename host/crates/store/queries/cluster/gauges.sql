-- How many leases there are, and how many of them no live worker accounts for, by tenant and queue.
--
-- $1  milliseconds that a lease is left to be reported: workers tell what they hold now and then
--
-- A worker that is missing, gone or evicted accounts for none of its leases, another one for as
-- many as it says that it holds: those that it beat last. Reads both tables whole.
WITH live AS MATERIALIZED (
    SELECT id, occupied
    FROM workers
    WHERE gone_since IS NULL AND evicted_at IS NULL
),
lease AS MATERIALIZED (
    SELECT l.tenant_id, l.queue_id, l.heartbeat_at,
           l.claimed_at < now() - $1 * INTERVAL '1 millisecond'
               AND row_number() OVER (
                       PARTITION BY l.worker_id,
                                    l.claimed_at < now() - $1 * INTERVAL '1 millisecond'
                       ORDER BY l.heartbeat_at DESC, l.job_id
                   ) > COALESCE(live.occupied, 0) AS orphaned
    FROM leases AS l
    LEFT JOIN live ON live.id = l.worker_id
),
orphan AS (
    SELECT t.name AS tenant, q.name AS queue, count(*) AS count
    FROM lease
    JOIN tenants AS t ON t.id = lease.tenant_id
    JOIN queues AS q ON q.id = lease.queue_id
    WHERE lease.orphaned
    GROUP BY t.name, q.name
)
SELECT (SELECT count(*) FROM lease) AS running,
       (SELECT COALESCE(sum(occupied), 0)::bigint FROM live) AS occupied,
       (SELECT count(*) FROM lease WHERE orphaned) AS orphaned,
       (SELECT (EXTRACT(EPOCH FROM now() - min(heartbeat_at)) * 1000)::bigint FROM lease)
           AS oldest_beat_ms,
       ARRAY(SELECT tenant FROM orphan ORDER BY tenant, queue) AS tenants,
       ARRAY(SELECT queue FROM orphan ORDER BY tenant, queue) AS queues,
       ARRAY(SELECT count FROM orphan ORDER BY tenant, queue) AS counts

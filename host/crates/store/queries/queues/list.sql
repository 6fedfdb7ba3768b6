-- The queues of a tenant with their depth, counted up to a bound: exact counts of a long backlog
-- would cost more than the work in it.
--
-- $1  tenant
-- $2  the bound
--
-- Index: ready_in_order. `leases` is small and read once a queue.
SELECT q.name, q.paused_at,
       (
           SELECT count(*) FROM (SELECT FROM ready AS r WHERE r.queue_id = q.id LIMIT $2) AS counted
       ) AS ready,
       (SELECT count(*) FROM leases AS l WHERE l.queue_id = q.id) AS running,
       (EXTRACT(EPOCH FROM now() - oldest.run_at) * 1000)::bigint AS oldest_ready_ms
FROM queues AS q
CROSS JOIN LATERAL (
    SELECT min(first.run_at) AS run_at
    FROM generate_series(1, 4) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT r.run_at FROM ready AS r
        WHERE r.queue_id = q.id AND r.priority = p.priority
        ORDER BY r.run_at
        LIMIT 1
    ) AS first
) AS oldest
WHERE q.tenant_id = $1
ORDER BY q.name

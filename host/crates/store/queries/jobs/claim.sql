-- Leases up to $3 jobs to a worker: one pass.
--
-- $1   worker
-- $2   names of the queues to serve; empty for all
-- $3   how many jobs at most
-- $4   how many lanes at most
-- $5   the lane that was served last: turns go on after it
-- $6   deadline in milliseconds of jobs whose kind names none
-- $7   longest deadline in milliseconds
-- $8..$11  queue id, priority, run_at and job id of the keys behind which to look. A pass with
--      keys visits only their lanes. A pass without keys finds every lane with work and starts at
--      the head of each.
-- $12  how many of the lanes with work to name, so that the next pass knows them
--
-- Index: ready_in_order, for all of it. Dead entries pile up at the head of a lane, where jobs
-- leave, and every scan from the head wades through them: the keys are what keeps the cost flat.
-- The skip-scan costs one probe a lane that has work, whatever the backlog and however many
-- queues are idle.
--
-- The lock on the lane's row makes one claimer at a time responsible for a lane, so that job rows
-- need no locks. It is not what makes a claim exclusive: a claimer whose snapshot is older than
-- another's commit may still choose the same rows, and then deletes none of them.
--
-- Jobs of a version that is in quarantine get no lease: they move to `held`, and come back as rows
-- that say so, so that a pass that met nothing else is not taken for one that found nothing. A
-- worker that was evicted finds no lane.
WITH RECURSIVE
remembered AS MATERIALIZED (
    SELECT queue_id, priority, run_at, job_id
    FROM unnest($8::bigint[], $9::smallint[], $10::timestamptz[], $11::uuid[])
         AS key (queue_id, priority, run_at, job_id)
),
lane_with_work (queue_id) AS (
    (
        SELECT queue_id FROM ready
        WHERE cardinality($8::bigint[]) = 0
        ORDER BY queue_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT r.queue_id FROM ready AS r
        WHERE r.queue_id > l.queue_id
        ORDER BY r.queue_id
        LIMIT 1
    )
    FROM lane_with_work AS l
    WHERE l.queue_id IS NOT NULL
),
lane AS (
    SELECT q.id
    FROM queues AS q
    WHERE q.id IN (
        SELECT queue_id FROM lane_with_work
        UNION ALL
        SELECT key.queue_id FROM remembered AS key
        WHERE EXISTS (
            SELECT FROM ready AS r
            WHERE r.queue_id = key.queue_id
              AND r.priority = key.priority
              AND (r.run_at, r.job_id) > (key.run_at, key.job_id)
        )
    )
      AND q.paused_at IS NULL
      AND (cardinality($2::text[]) = 0 OR q.name = ANY ($2::text[]))
      AND NOT EXISTS (SELECT FROM workers AS me WHERE me.id = $1 AND me.evicted_at IS NOT NULL)
    ORDER BY q.id <= $5, q.id
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
),
candidate AS (
    SELECT lane.id AS queue_id,
           found.row_at,
           row_number() OVER (PARTITION BY lane.id
                              ORDER BY p.priority, found.run_at, found.job_id) AS place
    FROM lane
    CROSS JOIN generate_series(1, 4) AS p (priority)
    LEFT JOIN remembered AS key ON key.queue_id = lane.id AND key.priority = p.priority
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row_at, r.run_at, r.job_id
        FROM ready AS r
        WHERE r.queue_id = lane.id
          AND r.priority = p.priority
          AND (r.run_at, r.job_id) > (
              COALESCE(key.run_at, '-infinity'),
              COALESCE(key.job_id, '00000000-0000-0000-0000-000000000000'))
        ORDER BY r.run_at, r.job_id
        LIMIT $3
    ) AS found
),
-- The first of every lane, then the second of every lane, and so on.
chosen AS (
    SELECT row_at
    FROM candidate
    ORDER BY place, queue_id <= $5, queue_id
    LIMIT $3
),
-- By row address, which needs no look-up and no statistics. Rows of `ready` are never updated,
-- and a row that this snapshot sees keeps its address.
claimed AS (
    DELETE FROM ready
    WHERE ctid = ANY (ARRAY(SELECT row_at FROM chosen))
    RETURNING job_id, tenant_id, queue_id, priority, run_at, run_lease + 1 AS run_lease,
              attempts, crashes
),
work AS MATERIALIZED (
    SELECT c.*,
           v.quarantined_at IS NOT NULL AS held,
           j.version_id IS NOT NULL AS pinned,
           j.module_id, j.kind, j.created_at, j.options,
           CASE WHEN v.quarantined_at IS NULL THEN j.payload ELSE '' END AS payload,
           m.name AS module,
           v.id AS version_id, v.name AS version_name, v.digest, v.world,
           v.manifest -> 'grants' AS grants,
           k.settings AS kind_settings,
           LEAST(COALESCE(j.deadline_ms, k.deadline_ms, $6), $7) AS deadline_ms
    FROM claimed AS c
    JOIN jobs AS j ON j.id = c.job_id
    JOIN modules AS m ON m.id = j.module_id
    LEFT JOIN module_versions AS v
           ON v.id = COALESCE(j.version_id, m.current_version_id) AND v.deleted_at IS NULL
    LEFT JOIN kinds AS k ON k.version_id = v.id AND k.name = j.kind
),
leased AS (
    INSERT INTO leases (job_id, tenant_id, queue_id, priority, worker_id, version_id, run_lease,
                        attempts, crashes, claimed_at, heartbeat_at, deadline_at)
    SELECT job_id, tenant_id, queue_id, priority, $1, version_id, run_lease,
           attempts, crashes, now(), now(), now() + deadline_ms * INTERVAL '1 millisecond'
    FROM work
    WHERE NOT held
),
put_by AS (
    INSERT INTO held (job_id, tenant_id, queue_id, priority, version_id, pinned, run_at, run_lease,
                      attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, version_id, pinned, run_at, run_lease - 1,
           attempts, crashes
    FROM work
    WHERE held
    ON CONFLICT DO NOTHING
)
SELECT work.*,
       t.name AS tenant,
       q.name AS queue,
       checkpoint.bytes AS checkpoint,
       checkpoint.resumed_at,
       checkpoint.answer,
       now() AS claimed_at,
       (SELECT count(*) FROM chosen) AS chosen,
       ARRAY(
           SELECT l.queue_id FROM lane_with_work AS l
           WHERE l.queue_id IS NOT NULL
           ORDER BY l.queue_id <= $5, l.queue_id
           LIMIT $12
       ) AS lanes
FROM work
JOIN tenants AS t ON t.id = work.tenant_id
JOIN queues AS q ON q.id = work.queue_id
LEFT JOIN checkpoints AS checkpoint ON checkpoint.job_id = work.job_id AND NOT work.held
ORDER BY work.priority, work.run_at, work.job_id

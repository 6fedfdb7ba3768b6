-- The foundation: tenants, modules, jobs, and the tables whose rows are the states of jobs.
--
-- A job's state is the table its small row lies in. Every transition moves that row in one
-- statement; the payload in `jobs` is written once and never moved; history is append-only and
-- leaves by partition.
--
-- Names are not qualified: the connection's search_path is the schema of the installation.
--
-- The tables of the hot path (`jobs`, `ready`, `scheduled`, `leases`, `ended`, `attempts`) have no
-- foreign keys to `tenants` and `queues`: each would lock the one shared row once a job, and
-- concurrent enqueues would pile up multixacts on it. Queues and tenants are never deleted.

-- ---------------------------------------------------------------- owners

CREATE TABLE tenants (
    id         uuid        PRIMARY KEY,
    name       text        NOT NULL UNIQUE CHECK (name ~ '^[a-z][a-z0-9._-]{0,63}$'),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The tenant that every installation has from the start.
INSERT INTO tenants (id, name) VALUES ('00000000-0000-0000-0000-000000000001', 'default');

-- ---------------------------------------------------------------- modules

CREATE TABLE modules (
    id                 uuid        PRIMARY KEY,
    tenant_id          uuid        NOT NULL REFERENCES tenants,
    name               text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9._-]{0,63}$'),
    current_version_id uuid,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    -- Deleting keeps the row, so that the history of its jobs can still name it.
    deleted_at         timestamptz
);
CREATE UNIQUE INDEX modules_by_name ON modules (tenant_id, name) WHERE deleted_at IS NULL;

-- Content-addressed: the same component uploaded twice is kept once. Belongs to no tenant.
CREATE TABLE blobs (
    digest     bytea       PRIMARY KEY CHECK (octet_length(digest) = 32),
    bytes      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
-- Read whole by each worker: the processor time of decompressing is worth more than the disk.
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE module_versions (
    id         uuid        PRIMARY KEY,
    tenant_id  uuid        NOT NULL REFERENCES tenants,
    module_id  uuid        NOT NULL REFERENCES modules,
    name       text        NOT NULL CHECK (name <> '' AND octet_length(name) <= 64),
    -- No foreign key: a deleted version keeps its digest for the history, but not its blob.
    digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
    size_bytes bigint      NOT NULL CHECK (size_bytes >= 0),
    world      text        NOT NULL CHECK (world IN ('handler', 'command')),
    imports    text[]      NOT NULL,
    manifest   jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    -- Deleted names stay taken: `name@version` never means two different components.
    UNIQUE (module_id, name)
);
CREATE INDEX module_versions_by_digest ON module_versions (digest);

ALTER TABLE modules ADD FOREIGN KEY (current_version_id) REFERENCES module_versions;

CREATE TABLE kinds (
    version_id  uuid   NOT NULL REFERENCES module_versions,
    tenant_id   uuid   NOT NULL REFERENCES tenants,
    name        text   NOT NULL CHECK (name ~ '^[a-z][a-z0-9._-]{0,63}$'),
    -- What the component described, and what the manifest made of it.
    info        jsonb  NOT NULL,
    settings    jsonb  NOT NULL,
    -- `settings.limits.deadline` as a number: the claim computes with it.
    deadline_ms bigint CHECK (deadline_ms > 0),
    PRIMARY KEY (version_id, name)
);

-- ---------------------------------------------------------------- lanes

-- A lane: one queue of one tenant. A claimer locks this row, so that a lane has one claimer at a
-- time and the rows in `ready` need no locks of their own. Locks are written into the row: it is
-- kept small, and is updated only to pause and resume.
CREATE TABLE queues (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  uuid        NOT NULL REFERENCES tenants,
    name       text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9._-]{0,63}$'),
    paused_at  timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, name)
);

-- ---------------------------------------------------------------- jobs

-- What was asked for. Written once.
CREATE TABLE jobs (
    id          uuid        PRIMARY KEY,
    tenant_id   uuid        NOT NULL,
    module_id   uuid        NOT NULL,
    -- The version asked for; NULL is whatever is current when the job is claimed.
    version_id  uuid,
    kind        text        NOT NULL,
    queue_id    bigint      NOT NULL,
    priority    smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4),
    run_at      timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- `options.limits.deadline` as a number: the claim computes with it.
    deadline_ms bigint      CHECK (deadline_ms > 0),
    options     jsonb       NOT NULL,
    payload     bytea       NOT NULL
);
-- Lists are paged by tenant, newest first.
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);

-- ---------------------------------------------------------------- waiting

-- Claimable now. Narrow, because each job passes through it at least once. `run_lease` is the
-- count of claims so far.
CREATE TABLE ready (
    job_id    uuid        PRIMARY KEY,
    tenant_id uuid        NOT NULL,
    queue_id  bigint      NOT NULL,
    run_at    timestamptz NOT NULL,
    run_lease bigint      NOT NULL DEFAULT 0 CHECK (run_lease >= 0),
    attempts  integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    crashes   integer     NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    priority  smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4)
) WITH (
    -- Every row is deleted soon: by the thousand, not by the fraction of a table that is empty
    -- most of the time, and without pauses, because each claim reads past what is left behind.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0,
    -- Giving empty pages back locks the whole table, and the next burst wants them again.
    vacuum_truncate = off
);
CREATE UNIQUE INDEX ready_in_order ON ready (queue_id, priority, run_at, job_id);

-- Due later: a first run ahead, a snooze (`scheduled`), or a backoff (`retryable`). Apart from
-- `ready`, so that a claim never reads past rows that are not due.
CREATE TABLE scheduled (
    job_id    uuid        PRIMARY KEY,
    tenant_id uuid        NOT NULL,
    queue_id  bigint      NOT NULL,
    due_at    timestamptz NOT NULL,
    run_lease bigint      NOT NULL DEFAULT 0 CHECK (run_lease >= 0),
    attempts  integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    crashes   integer     NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    priority  smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4),
    reason    text        NOT NULL CHECK (reason IN ('scheduled', 'retryable')),
    -- A job that was never claimed has no failure to wait out.
    CHECK (reason = 'scheduled' OR run_lease > 0)
) WITH (
    -- As for `ready`: the promotion reads the head of the index every time.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
CREATE INDEX scheduled_by_due ON scheduled (due_at, job_id);

-- ---------------------------------------------------------------- running

-- A running attempt. The key is the job alone, so that a job cannot have two leases; the fence is
-- `(job_id, run_lease)`, which every write of an outcome compares.
--
-- No other index: the table holds no more rows than there are slots in the cluster, so that the
-- sweeps read it whole every half minute for less than an index would cost every job. And
-- `heartbeat_at` unindexed keeps heartbeats HOT, for which the fillfactor leaves room.
CREATE TABLE leases (
    job_id              uuid        PRIMARY KEY,
    tenant_id           uuid        NOT NULL,
    queue_id            bigint      NOT NULL,
    worker_id           uuid        NOT NULL,
    -- The version that runs; NULL when there was none to run.
    version_id          uuid,
    run_lease           bigint      NOT NULL CHECK (run_lease > 0),
    claimed_at          timestamptz NOT NULL,
    heartbeat_at        timestamptz NOT NULL,
    deadline_at         timestamptz NOT NULL,
    -- A cancel is a durable intent first: whatever ends the attempt then ends the job.
    cancel_requested_at timestamptz,
    cancel_cause        text        CHECK (cancel_cause IN
                            ('user', 'parent_failed', 'parent_cancelled', 'tenant', 'expired')),
    -- As they were before this attempt.
    attempts            integer     NOT NULL CHECK (attempts >= 0),
    crashes             integer     NOT NULL CHECK (crashes >= 0),
    priority            smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4),
    progress_percent    smallint    CHECK (progress_percent BETWEEN 0 AND 100),
    progress_note       text,
    CHECK (deadline_at > claimed_at),
    CHECK ((cancel_requested_at IS NULL) = (cancel_cause IS NULL)),
    CHECK ((progress_percent IS NULL) = (progress_note IS NULL))
) WITH (
    fillfactor = 70,
    -- Read whole by the sweeps: it must stay as small as it is.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);

-- What the last `checkpoint` of any attempt kept. Gone when the job ends for good.
CREATE TABLE checkpoints (
    job_id     uuid        PRIMARY KEY,
    tenant_id  uuid        NOT NULL,
    run_lease  bigint      NOT NULL CHECK (run_lease > 0),
    written_at timestamptz NOT NULL DEFAULT now(),
    bytes      bytea       NOT NULL
) WITH (
    fillfactor = 70,
    -- Each row is rewritten and deleted, and drags its TOAST chunks along.
    autovacuum_vacuum_scale_factor = 0.05,
    toast.autovacuum_vacuum_scale_factor = 0.05
);

-- ---------------------------------------------------------------- ended

-- Ended well or cancelled. Partitioned by day, so that old ones leave by dropping a table.
CREATE TABLE ended (
    job_id            uuid        NOT NULL,
    tenant_id         uuid        NOT NULL,
    queue_id          bigint      NOT NULL,
    finished_at       timestamptz NOT NULL,
    -- NULL from here to `usage` when the job was cancelled before any claim.
    started_at        timestamptz,
    worker_id         uuid,
    version_id        uuid,
    run_lease         bigint      NOT NULL CHECK (run_lease >= 0),
    attempts          integer     NOT NULL CHECK (attempts >= 0),
    crashes           integer     NOT NULL CHECK (crashes >= 0),
    priority          smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4),
    state             text        NOT NULL CHECK (state IN ('completed', 'cancelled')),
    cause             text        CHECK (cause IN
                          ('user', 'parent_failed', 'parent_cancelled', 'tenant', 'expired')),
    -- The job that caused the cancel, in a workflow.
    caused_by         uuid,
    -- Usage of the last attempt.
    fuel              bigint      CHECK (fuel >= 0),
    cpu_micros        bigint      CHECK (cpu_micros >= 0),
    wall_micros       bigint      CHECK (wall_micros >= 0),
    peak_memory_bytes bigint      CHECK (peak_memory_bytes >= 0),
    log_bytes         bigint      CHECK (log_bytes >= 0),
    output_bytes      bigint      CHECK (output_bytes >= 0),
    output            bytea,
    PRIMARY KEY (job_id, finished_at),
    CHECK ((state = 'completed') = (output IS NOT NULL)),
    CHECK ((state = 'cancelled') = (cause IS NOT NULL)),
    CHECK (state = 'cancelled' OR (run_lease > 0 AND started_at IS NOT NULL))
) PARTITION BY RANGE (finished_at);

-- The dead-letter queue: ended as `failed` or `dead`. Apart from `ended` and not partitioned,
-- because these rows are kept by a retention of their own, are few, and come back: a retry moves
-- the row to `ready`. Everything that explains the failure is in the row; the input stays in
-- `jobs`, and the foreign key keeps it there.
CREATE TABLE dlq (
    job_id            uuid        PRIMARY KEY REFERENCES jobs,
    tenant_id         uuid        NOT NULL,
    queue_id          bigint      NOT NULL,
    module_id         uuid        NOT NULL,
    kind              text        NOT NULL,
    state             text        NOT NULL CHECK (state IN ('failed', 'dead')),
    -- Which budget is used up.
    reason            text        CHECK (reason IN ('attempts', 'crashed')),
    -- The last failure.
    class             text        NOT NULL,
    code              text        NOT NULL,
    message           text        NOT NULL,
    finished_at       timestamptz NOT NULL,
    started_at        timestamptz NOT NULL,
    worker_id         uuid        NOT NULL,
    version_id        uuid,
    version_name      text,
    digest            bytea       CHECK (octet_length(digest) = 32),
    kind_settings     jsonb,
    run_lease         bigint      NOT NULL CHECK (run_lease > 0),
    attempts          integer     NOT NULL CHECK (attempts >= 0),
    crashes           integer     NOT NULL CHECK (crashes >= 0),
    priority          smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4),
    fuel              bigint      NOT NULL CHECK (fuel >= 0),
    cpu_micros        bigint      NOT NULL CHECK (cpu_micros >= 0),
    wall_micros       bigint      NOT NULL CHECK (wall_micros >= 0),
    peak_memory_bytes bigint      NOT NULL CHECK (peak_memory_bytes >= 0),
    log_bytes         bigint      NOT NULL CHECK (log_bytes >= 0),
    output_bytes      bigint      NOT NULL CHECK (output_bytes >= 0),
    -- Copies, because `attempts` and `job_logs` leave earlier.
    errors            jsonb       NOT NULL CHECK (jsonb_typeof(errors) = 'array'),
    log_tail          jsonb       NOT NULL CHECK (jsonb_typeof(log_tail) = 'array'),
    CHECK ((state = 'dead') = (reason IS NOT NULL))
);
CREATE INDEX dlq_by_tenant ON dlq (tenant_id, job_id);

-- ---------------------------------------------------------------- history

-- Attempts that did not simply succeed at once: each one that ended otherwise, and the success
-- that follows one.
CREATE TABLE attempts (
    job_id            uuid        NOT NULL,
    tenant_id         uuid        NOT NULL,
    run_lease         bigint      NOT NULL CHECK (run_lease > 0),
    attempt           integer     NOT NULL CHECK (attempt > 0),
    worker_id         uuid        NOT NULL,
    version_id        uuid,
    started_at        timestamptz NOT NULL,
    ended_at          timestamptz NOT NULL,
    -- NULL: it succeeded.
    class             text        CHECK (class IN
                          ('error', 'permanent', 'trap', 'deadline', 'fuel', 'memory', 'table',
                           'stack', 'output', 'log_flood', 'disk', 'lost', 'not_runnable',
                           'released', 'snoozed', 'cancelled')),
    code              text,
    message           text,
    backtrace         text,
    fuel              bigint      NOT NULL CHECK (fuel >= 0),
    cpu_micros        bigint      NOT NULL CHECK (cpu_micros >= 0),
    wall_micros       bigint      NOT NULL CHECK (wall_micros >= 0),
    peak_memory_bytes bigint      NOT NULL CHECK (peak_memory_bytes >= 0),
    log_bytes         bigint      NOT NULL CHECK (log_bytes >= 0),
    output_bytes      bigint      NOT NULL CHECK (output_bytes >= 0),
    PRIMARY KEY (job_id, run_lease, ended_at),
    CHECK ((class IS NULL) = (message IS NULL)),
    CHECK ((class IS NULL) = (code IS NULL)),
    CHECK ((class IS NULL) = (backtrace IS NULL))
) PARTITION BY RANGE (ended_at);

-- What guests wrote, in chunks of lines.
CREATE TABLE job_logs (
    job_id     uuid        NOT NULL,
    tenant_id  uuid        NOT NULL,
    run_lease  bigint      NOT NULL CHECK (run_lease > 0),
    seq        integer     NOT NULL CHECK (seq >= 0),
    attempt    integer     NOT NULL CHECK (attempt > 0),
    written_at timestamptz NOT NULL,
    lines      jsonb       NOT NULL CHECK (jsonb_typeof(lines) = 'array'),
    PRIMARY KEY (job_id, run_lease, seq, written_at)
) PARTITION BY RANGE (written_at);

-- The safety net: a row of a day without a partition is kept, not refused.
CREATE TABLE ended_default PARTITION OF ended DEFAULT;
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
CREATE TABLE job_logs_default PARTITION OF job_logs DEFAULT;

-- Makes the partitions of today and of `ahead` days more, in UTC. Returns how many it made.
--
-- A new partition is filled with what the default partition holds of its day and attached then:
-- attaching does not lock the parent against readers and writers, as creating it in place would,
-- and it does not fail on rows that came before the partition did. A second caller at the same
-- time leaves it to the first.
CREATE FUNCTION ensure_partitions(ahead integer) RETURNS integer
LANGUAGE plpgsql
-- Waiting for a lock blocks everyone behind: rather try again at the next call.
SET lock_timeout = '2s'
AS $$
DECLARE
    parent text;
    clock  text;
    today  date := (now() AT TIME ZONE 'UTC')::date;
    day    date;
    child  text;
    bounds text[];
    made   integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(current_schema() || '.partitions', 0)) THEN
        RETURN 0;
    END IF;
    FOR parent, clock IN
        VALUES ('ended', 'finished_at'), ('attempts', 'ended_at'), ('job_logs', 'written_at')
    LOOP
        FOR day IN SELECT today + days FROM generate_series(0, ahead) AS days LOOP
            child := parent || to_char(day, '_YYYYMMDD');
            CONTINUE WHEN to_regclass(child) IS NOT NULL;
            bounds := ARRAY[day || ' 00:00:00+00', day + 1 || ' 00:00:00+00'];
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
            EXECUTE format(
                'WITH strayed AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *)
                 INSERT INTO %I SELECT * FROM strayed',
                parent || '_default', clock, bounds[1], clock, bounds[2], child);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, child, bounds[1], bounds[2]);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;

-- ---------------------------------------------------------------- workers

-- One start of a worker process each. Belongs to no tenant.
CREATE TABLE workers (
    id         uuid        PRIMARY KEY,
    hostname   text        NOT NULL,
    pid        bigint      NOT NULL CHECK (pid >= 0),
    version    text        NOT NULL,
    -- Empty: all of them.
    queues     text[]      NOT NULL,
    slots      integer     NOT NULL CHECK (slots >= 0),
    occupied   integer     NOT NULL CHECK (occupied >= 0),
    draining   boolean     NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50); -- A few rows, rewritten all the time.

-- ---------------------------------------------------------------- look-ups

-- Where each job is, and what there is to say of it there. A job is in exactly one of these
-- tables, so it has exactly one row here. Columns that a query does not name cost it nothing.
CREATE VIEW job_state AS
SELECT job_id, tenant_id, 'available' AS state, attempts, crashes, run_lease, run_at,
       NULL::timestamptz AS started_at, NULL::timestamptz AS finished_at,
       NULL::uuid AS worker_id, NULL::uuid AS version_id,
       -- Of running jobs.
       NULL::timestamptz AS heartbeat_at, NULL::timestamptz AS deadline_at,
       NULL::timestamptz AS cancel_requested_at,
       NULL::smallint AS progress_percent, NULL::text AS progress_note,
       -- Of jobs that ended.
       NULL::bigint AS fuel, NULL::bigint AS cpu_micros, NULL::bigint AS wall_micros,
       NULL::bigint AS peak_memory_bytes, NULL::bigint AS log_bytes, NULL::bigint AS output_bytes,
       NULL::bytea AS output, NULL::text AS cause, NULL::uuid AS caused_by,
       -- Of dead letters.
       NULL::text AS class, NULL::text AS message, NULL::text AS reason, NULL::jsonb AS errors
FROM ready
UNION ALL
SELECT job_id, tenant_id, reason, attempts, crashes, run_lease, due_at, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL
FROM scheduled
UNION ALL
SELECT job_id, tenant_id, 'running', attempts, crashes, run_lease, NULL, claimed_at, NULL,
       worker_id, version_id, heartbeat_at, deadline_at, cancel_requested_at, progress_percent,
       progress_note, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM leases
UNION ALL
SELECT job_id, tenant_id, state, attempts, crashes, run_lease, NULL, started_at, finished_at,
       worker_id, version_id, NULL, NULL, NULL, NULL, NULL, fuel, cpu_micros, wall_micros,
       peak_memory_bytes, log_bytes, output_bytes, output, cause, caused_by, NULL, NULL, NULL, NULL
FROM ended
UNION ALL
SELECT job_id, tenant_id, state, attempts, crashes, run_lease, NULL, started_at, finished_at,
       worker_id, version_id, NULL, NULL, NULL, NULL, NULL, fuel, cpu_micros, wall_micros,
       peak_memory_bytes, log_bytes, output_bytes, NULL, NULL, NULL, class, message, reason, errors
FROM dlq;

-- The error history: attempts that failed. Given back and snoozed is not failed.
CREATE VIEW job_error AS
SELECT job_id, run_lease, started_at, class, message,
       jsonb_build_object(
           'at', ended_at, 'attempt', attempt, 'run_lease', run_lease, 'worker', worker_id,
           'class', class, 'code', code, 'message', message, 'backtrace', backtrace) AS entry
FROM attempts
WHERE class NOT IN ('released', 'snoozed');

-- Recovery: who leads, who is really there, what the sweeps did, and where jobs wait that no claim
-- may take.

-- ---------------------------------------------------------------- leader

-- One row: who runs the sweeps at the moment, and until when unless renewed. The epoch grows with
-- each change of hands. Two leaders at once are harmless, so nothing is fenced by it: it tells
-- people how often leadership changed, and a report of an old leader from that of a new one.
CREATE TABLE leader (
    one         boolean     PRIMARY KEY DEFAULT true CHECK (one),
    epoch       bigint      NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    -- NULL: nobody leads.
    worker_id   uuid,
    acquired_at timestamptz,
    expires_at  timestamptz,
    CHECK ((worker_id IS NULL) = (acquired_at IS NULL)),
    CHECK ((worker_id IS NULL) = (expires_at IS NULL))
) WITH (fillfactor = 50); -- One row, rewritten all the time.
INSERT INTO leader DEFAULT VALUES;

-- What each sweep did, as leaders report it every few seconds: the last run, and sums since the
-- installation began.
CREATE TABLE sweeps (
    name          text        PRIMARY KEY CHECK (name <> '' AND octet_length(name) <= 64),
    worker_id     uuid        NOT NULL,
    epoch         bigint      NOT NULL CHECK (epoch >= 0),
    last_run_at   timestamptz NOT NULL,
    last_micros   bigint      NOT NULL CHECK (last_micros >= 0),
    last_rows     bigint      NOT NULL CHECK (last_rows >= 0),
    -- NULL: the last run went well. Kept with its time until a run goes wrong again.
    error         text,
    last_error    text,
    last_error_at timestamptz,
    runs          bigint      NOT NULL CHECK (runs >= 0),
    failures      bigint      NOT NULL CHECK (failures >= 0),
    rows          bigint      NOT NULL CHECK (rows >= 0),
    -- Of the sweeps that rescue leases: how many had not been beaten for at most so many
    -- milliseconds (the bounds are `RECOVERY_BUCKETS`), and the sum.
    recovery      bigint[]    NOT NULL DEFAULT '{}',
    recovery_ms   bigint      NOT NULL DEFAULT 0 CHECK (recovery_ms >= 0)
) WITH (fillfactor = 50);

-- ---------------------------------------------------------------- workers

-- Each worker keeps a session of its own open that holds an advisory lock. Postgres gives the lock
-- up when the session ends, which it does within milliseconds of the process.
ALTER TABLE workers
    -- When the worker last proved, over that very session, that it holds the lock. NULL: it has
    -- none, and is only found dead by its heartbeats.
    ADD COLUMN session_at         timestamptz,
    -- How many sessions of this database had been ended by Postgres then, rather than by their
    -- clients. While this stands still, a session that is gone was ended by its process.
    ADD COLUMN session_kills      bigint,
    -- Since when the lock is seen to be free.
    ADD COLUMN gone_since         timestamptz,
    -- Slots that are held by attempts which cannot be ended.
    ADD COLUMN leaked             integer NOT NULL DEFAULT 0 CHECK (leaked >= 0),
    ADD COLUMN drain_requested_at timestamptz,
    -- An operator declared it dead. The row stays so that a worker that lives hears of it.
    ADD COLUMN evicted_at         timestamptz;

-- ---------------------------------------------------------------- quarantine

-- A version whose guests kill the processes that they run in is not claimed any more.
ALTER TABLE module_versions
    ADD COLUMN quarantined_at     timestamptz,
    ADD COLUMN quarantine_reason  text,
    ADD CHECK ((quarantined_at IS NULL) = (quarantine_reason IS NULL));

-- Finds the evidence: guests that took their own process with them.
CREATE INDEX attempts_that_killed ON attempts (version_id, ended_at) WHERE code = 'process_died';

-- Claimable but for the version, which is in quarantine. Apart from `ready`, so that claims never
-- read past rows that they may not take.
CREATE TABLE held (
    job_id     uuid        PRIMARY KEY,
    tenant_id  uuid        NOT NULL,
    queue_id   bigint      NOT NULL,
    version_id uuid        NOT NULL,
    run_at     timestamptz NOT NULL,
    held_at    timestamptz NOT NULL DEFAULT now(),
    run_lease  bigint      NOT NULL CHECK (run_lease >= 0),
    attempts   integer     NOT NULL CHECK (attempts >= 0),
    crashes    integer     NOT NULL CHECK (crashes >= 0),
    priority   smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4)
);
CREATE INDEX held_by_version ON held (version_id, job_id);

-- ---------------------------------------------------------------- waiting outside

-- Waits for a callback, and holds no slot meanwhile. Whoever has the token may answer; its hash is
-- kept, never the token.
CREATE TABLE suspended (
    job_id       uuid        PRIMARY KEY,
    tenant_id    uuid        NOT NULL,
    queue_id     bigint      NOT NULL,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    suspended_at timestamptz NOT NULL DEFAULT now(),
    timeout_at   timestamptz NOT NULL,
    worker_id    uuid        NOT NULL,
    version_id   uuid,
    run_lease    bigint      NOT NULL CHECK (run_lease > 0),
    attempts     integer     NOT NULL CHECK (attempts >= 0),
    crashes      integer     NOT NULL CHECK (crashes >= 0),
    priority     smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4)
);
CREATE INDEX suspended_by_timeout ON suspended (timeout_at, job_id);

-- ---------------------------------------------------------------- look-ups

-- As before, with the two new places. A job that is held is available: it waits for nothing of its
-- own.
CREATE OR REPLACE VIEW job_state AS
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
SELECT job_id, tenant_id, 'available', attempts, crashes, run_lease, run_at, NULL, NULL, NULL,
       version_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL
FROM held
UNION ALL
SELECT job_id, tenant_id, reason, attempts, crashes, run_lease, due_at, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL
FROM scheduled
UNION ALL
SELECT job_id, tenant_id, 'suspended', attempts, crashes, run_lease, timeout_at, NULL, NULL,
       worker_id, version_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM suspended
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

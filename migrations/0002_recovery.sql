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
    -- Of the sweeps that rescue leases: how many had not been beaten for how long (one count a
    -- bound of `RECOVERY_BUCKETS_MS`, not added up, and one for what is longer), and the sum.
    recovery      bigint[]    NOT NULL DEFAULT '{}',
    recovery_ms   bigint      NOT NULL DEFAULT 0 CHECK (recovery_ms >= 0)
) WITH (fillfactor = 50);

-- ---------------------------------------------------------------- running

-- A heartbeat updates all rows of a page in one statement, which can clear away none of the old
-- versions meanwhile: for all of the new ones to fit beside them, and the update to stay HOT, more
-- than half of the page has to be free. (With 70 more than half of the updates moved to another.)
ALTER TABLE leases SET (fillfactor = 45);

-- ---------------------------------------------------------------- workers

-- Each worker keeps a session of its own open that holds an advisory lock. Postgres gives the lock
-- up when the session ends, which it does within milliseconds of the process.
ALTER TABLE workers
    -- When the worker last proved, over that very session, that it holds the lock. NULL: it has
    -- none, and is only found dead by its heartbeats.
    ADD COLUMN session_at         timestamptz,
    -- The transaction that proved it. Transactions are counted on through restarts and crashes,
    -- whatever becomes of the clock: an observer whose session began before this transaction knows
    -- that Postgres has been there ever since.
    ADD COLUMN session_xid        bigint,
    -- How many sessions of this database had been terminated by then. While this stands still, a
    -- session that is gone was ended by its process.
    ADD COLUMN session_kills      bigint,
    -- Since when the lock is seen to be free although nobody but the process can have given it up,
    -- and when that was seen last. Only what was seen again after a while counts: Postgres lets go
    -- of the lock a moment before it counts the session that it terminated.
    ADD COLUMN gone_since         timestamptz,
    ADD COLUMN gone_seen_at       timestamptz,
    ADD CHECK ((gone_since IS NULL) = (gone_seen_at IS NULL)),
    ADD CHECK (num_nulls(session_at, session_xid, session_kills) IN (0, 3)),
    -- Slots that are held by attempts which cannot be ended.
    ADD COLUMN leaked             integer NOT NULL DEFAULT 0 CHECK (leaked >= 0),
    ADD COLUMN drain_requested_at timestamptz,
    -- An operator declared it dead. The row stays so that a worker that lives hears of it.
    ADD COLUMN evicted_at         timestamptz;

-- The key of the lock that a worker's session holds.
CREATE FUNCTION worker_lock(worker uuid) RETURNS bigint
LANGUAGE sql STABLE
AS $$ SELECT hashtextextended(current_schema() || '.worker.' || worker, 0) $$;

-- The sessions that hold the locks of registered workers. A worker that is changing over from one
-- session to the next has two.
CREATE VIEW worker_session AS
SELECT w.id AS worker_id, held.pid
FROM workers AS w
JOIN pg_locks AS held
  ON (held.classid::bigint << 32) | held.objid::bigint = worker_lock(w.id)
WHERE held.locktype = 'advisory'
  AND held.objsubid = 1
  AND held.granted
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- ---------------------------------------------------------------- quarantine

-- A version whose guests kill the processes that they run in is not claimed any more.
ALTER TABLE module_versions
    ADD COLUMN quarantined_at    timestamptz,
    ADD COLUMN quarantine_reason text,
    ADD CHECK ((quarantined_at IS NULL) = (quarantine_reason IS NULL));

-- The evidence: jobs whose attempt took its own process with it, one row each, the latest time.
-- Apart from `attempts`, which is large, and deleted when it is an hour old or forgiven.
CREATE TABLE process_deaths (
    version_id uuid        NOT NULL,
    job_id     uuid        NOT NULL,
    died_at    timestamptz NOT NULL,
    PRIMARY KEY (version_id, job_id)
);

-- Claimable but for the version, which is in quarantine. Apart from `ready`, so that claims never
-- read past rows that they may not take.
CREATE TABLE held (
    job_id     uuid        PRIMARY KEY,
    tenant_id  uuid        NOT NULL,
    queue_id   bigint      NOT NULL,
    -- The version that it would have run.
    version_id uuid        NOT NULL,
    -- Whether it asked for that version, rather than for whichever is current.
    pinned     boolean     NOT NULL,
    run_at     timestamptz NOT NULL,
    held_at    timestamptz NOT NULL DEFAULT now(),
    run_lease  bigint      NOT NULL CHECK (run_lease >= 0),
    attempts   integer     NOT NULL CHECK (attempts >= 0),
    crashes    integer     NOT NULL CHECK (crashes >= 0),
    priority   smallint    NOT NULL CHECK (priority BETWEEN 1 AND 4)
);
CREATE INDEX held_by_version ON held (version_id, pinned, job_id);

-- ---------------------------------------------------------------- waiting outside

-- Waits for a callback, or for the time alone, and holds no slot meanwhile. Whoever has the token
-- may answer; its hash is kept, never the token.
CREATE TABLE suspended (
    job_id       uuid        PRIMARY KEY,
    tenant_id    uuid        NOT NULL,
    queue_id     bigint      NOT NULL,
    token_hash   bytea       UNIQUE CHECK (octet_length(token_hash) = 32),
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

-- How the last wait ended lies beside the checkpoint, because it goes where that goes: to every
-- later attempt, and away with the job. Of a wait that was over without a callback there is no
-- answer.
ALTER TABLE checkpoints
    ALTER COLUMN bytes DROP NOT NULL,
    ADD COLUMN resumed_at timestamptz,
    ADD COLUMN answer bytea CHECK (octet_length(answer) <= 65536),
    ADD CONSTRAINT answer_ends_wait CHECK (answer IS NULL OR resumed_at IS NOT NULL);

-- ---------------------------------------------------------------- retention

-- Dead letters leave by their age, whoever they belong to.
CREATE INDEX dlq_by_end ON dlq (finished_at);

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
       NULL, NULL, NULL, 'quarantined', NULL
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

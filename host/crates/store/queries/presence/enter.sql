-- Makes a new session the presence of a worker. Returns the first transaction of which it can be
-- said that the session was there when it ended.
--
-- $1  worker
--
-- The lock is shared, so that a worker can take a new session before it lets go of the old one. It
-- belongs to this very session of the server, and so does the number: whoever holds the one may
-- believe in the other.
--
-- Nothing but its own end ends the session: each of these settings could. Those that this server
-- does not know are left out. Keepalives come after two hours without a word, long after the leases
-- of a worker that cannot be reached have gone stale.
WITH settled AS MATERIALIZED (
    SELECT set_config(wanted.name, wanted.setting, false)
    FROM (VALUES ('idle_session_timeout', '0'),
                 ('idle_in_transaction_session_timeout', '0'),
                 ('transaction_timeout', '0'),
                 ('client_connection_check_interval', '0'),
                 ('tcp_user_timeout', '0'),
                 ('tcp_keepalives_idle', '7200')) AS wanted (name, setting)
    JOIN pg_settings AS known ON known.name = wanted.name
)
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS since,
       (SELECT count(*) FROM settled) AS settled,
       pg_advisory_lock_shared(worker_lock($1))::text AS locked

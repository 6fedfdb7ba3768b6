-- What was applied to this schema.
CREATE TABLE schema_migrations (
    version    bigint      PRIMARY KEY CHECK (version > 0),
    name       text        NOT NULL,
    -- SHA-256 of the file, so that a changed file is found out.
    checksum   bytea       NOT NULL CHECK (octet_length(checksum) = 32),
    applied_at timestamptz NOT NULL DEFAULT now()
)

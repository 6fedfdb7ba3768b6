-- Secrets of tenants.

-- Sealed with a key that is not in the database: `host/crates/core/src/secret.rs` says how. Tenant
-- and name are sealed in, so a value that somebody moves to another row does not open there.
CREATE TABLE secrets (
    tenant_id  uuid        NOT NULL REFERENCES tenants,
    name       text        NOT NULL CHECK (name ~ '^[A-Za-z][A-Za-z0-9_]{0,63}$'),
    -- A nonce of 12 bytes, a text of 1 to 65536, and a tag of 16.
    sealed     bytea       NOT NULL CHECK (octet_length(sealed) BETWEEN 29 AND 65564),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
-- What is sealed looks random, and does not compress.
ALTER TABLE secrets ALTER COLUMN sealed SET STORAGE EXTERNAL;

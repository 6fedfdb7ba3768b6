-- Adds a secret, or replaces the one of its name, which keeps the time at which it was created.
-- Returns whether it was added. No row: the tenant has as many others as it may have.
--
-- $1  tenant
-- $2  name
-- $3  what was sealed
-- $4  how many a tenant may have
--
-- Called with the tenant locked. Index: the primary key.
WITH before AS (
    SELECT count(*) AS secrets, count(*) FILTER (WHERE name = $2) AS alike
    FROM secrets
    WHERE tenant_id = $1
)
INSERT INTO secrets (tenant_id, name, sealed)
SELECT $1, $2, $3
FROM before
WHERE before.alike > 0 OR before.secrets < $4
ON CONFLICT (tenant_id, name) DO UPDATE
SET sealed = EXCLUDED.sealed, updated_at = now()
RETURNING (SELECT before.alike = 0 FROM before) AS added

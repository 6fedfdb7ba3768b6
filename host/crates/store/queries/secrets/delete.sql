-- Deletes a secret. No row: there is none of this name.
--
-- $1  tenant
-- $2  name
--
-- Index: the primary key.
DELETE FROM secrets
WHERE tenant_id = $1 AND name = $2
RETURNING name

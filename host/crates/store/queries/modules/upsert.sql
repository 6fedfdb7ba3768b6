-- Finds or makes a module and locks it, so that publishes of one module follow one another.
--
-- $1  id of a new one
-- $2  tenant
-- $3  name
INSERT INTO modules (id, tenant_id, name)
VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, name) WHERE deleted_at IS NULL DO UPDATE
SET updated_at = now()
RETURNING id

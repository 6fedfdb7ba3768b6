-- The names of a tenant's secrets, without what was sealed.
--
-- $1  tenant
-- $2  how many at most
--
-- Index: the primary key.
SELECT name, created_at, updated_at
FROM secrets
WHERE tenant_id = $1
ORDER BY name
LIMIT $2

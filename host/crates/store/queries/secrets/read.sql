-- What was sealed under some names, as far as there is something.
--
-- $1  tenant
-- $2  names
--
-- Index: the primary key.
SELECT name, sealed
FROM secrets
WHERE tenant_id = $1 AND name = ANY ($2::text[])

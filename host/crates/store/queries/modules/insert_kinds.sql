-- Adds the kinds of a version.
--
-- $1      version
-- $2      tenant
-- $3..$6  name, description, settled options and deadline in milliseconds of each
INSERT INTO kinds (version_id, tenant_id, name, info, settings, deadline_ms)
SELECT $1, $2, name, info, settings, deadline_ms
FROM unnest($3::text[], $4::jsonb[], $5::jsonb[], $6::bigint[])
     AS kind (name, info, settings, deadline_ms)

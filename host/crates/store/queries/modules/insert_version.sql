-- Adds a version.
--
-- $1..$9  id, tenant, module, name, digest, size, world, imports, manifest
INSERT INTO module_versions (id, tenant_id, module_id, name, digest, size_bytes, world, imports,
                             manifest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- Notes a migration as applied, in the transaction that applies it. $1 version, $2 name, $3 checksum.
INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)

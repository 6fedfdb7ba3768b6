-- Lets the secrets of a tenant be added one after the other, so that whoever counts them counts all.
-- Held until the transaction ends. A statement of its own: the one that counts must begin when the
-- lock is there, or it would not see what was added while it waited.
--
-- $1  tenant
--
-- Index: the primary key. The weaker lock, which leaves those alone whose rows refer to the tenant.
SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE

-- Held until the publish: files that were written before a removal may be gone.
select tick from lake_state where removals = $1 for share

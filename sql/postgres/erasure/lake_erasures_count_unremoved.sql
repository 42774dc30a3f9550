-- The same where shared files are published.
update lake_state set erasures = erasures + 1 where removals = $1

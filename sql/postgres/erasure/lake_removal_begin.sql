-- Whoever writes files now publishes none of them.
update lake_state set erasures = erasures + 1, removals = removals + 1

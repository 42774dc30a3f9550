update lake_state set tick = tick + 1, exported_below = $2::text::xid8, attempted_bytes = $4
-- What was read before an erasure must not be published after it.
where tick = $1 and erasures = $3

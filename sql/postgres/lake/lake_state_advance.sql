update lake_state set tick = tick + 1, exported_below = $2::text::xid8
where tick = $1

update attribution_state set looked_below = $2::text::xid8
where looked_below = $1::text::xid8

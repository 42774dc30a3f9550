select removals from lake_state

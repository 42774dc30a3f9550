select erasures from lake_state

update lake_state set attempted_bytes = $1

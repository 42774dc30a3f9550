update lake_state set removal_paused_until = null

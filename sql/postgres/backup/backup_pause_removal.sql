update lake_state set removal_paused_until = now() + make_interval(hours => $1)

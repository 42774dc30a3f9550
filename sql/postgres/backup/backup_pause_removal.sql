-- Several backups may run: the pause is that of the last one, and none ends it.
update lake_state set removal_paused_until = greatest(removal_paused_until, now() + make_interval(mins => $1))

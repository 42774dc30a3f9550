-- $1: the tick before.
update lake_state set attempted_bytes = $2 where tick = $1

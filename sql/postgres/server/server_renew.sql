-- No row: this connection does not listen (it is a new one), or the process was taken off the list.
update server_process
set seen_at = clock_timestamp()
where id = $1 and 'recoup_access' in (select pg_listening_channels())
returning id

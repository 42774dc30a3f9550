-- Whether a server runs, whose requests may be reading.
select exists (select from server_process where seen_at > now() - interval '2 minutes') as some

-- Sends a fence, which arrives after every notification committed so far, and lists who may still be trusting memory.
with sent as (select pg_notify('recoup_access', 'fence ' || $1::text))

select id
from server_process, sent
where seen_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)

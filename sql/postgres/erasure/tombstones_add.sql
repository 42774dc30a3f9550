insert into tombstone (brand_id, hash, erased_at)
select distinct $1::uuid, tombstone_hash($1, kind, value), $4::timestamptz
from unnest($2::text[], $3::text[]) as given (kind, value)
on conflict (brand_id, hash) do update set erased_at = excluded.erased_at

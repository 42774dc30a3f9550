-- Of the contacts that erase_contacts takes, whose ids nothing else keeps.
insert into tombstone (brand_id, hash, erased_at)
select $1, tombstone_hash($1, 'contact_id', id::text), $5
from erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5) as id
on conflict (brand_id, hash) do update set erased_at = excluded.erased_at

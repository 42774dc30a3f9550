-- What somebody who is erased refused ($2: channel, $3: address, $4: when): it holds for whoever has the address next.
insert into kept_refusal (brand_id, hash, refused_at)
values ($1, tombstone_hash($1, 'refused_' || $2::text, $3::text), $4::timestamptz)
on conflict (brand_id, hash) do update set refused_at = greatest(kept_refusal.refused_at, excluded.refused_at)

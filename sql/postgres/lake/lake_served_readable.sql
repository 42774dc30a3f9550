-- Of generations that are open in a process those that may still be read, and which of them are the newest.
select asked.brand_id, asked.generation, asked.generation = lake_brand.generation as newest
from unnest($1::uuid[], $2::bigint[]) as asked (brand_id, generation)
join served_generation using (brand_id, generation)
join lake_brand using (brand_id)
where asked.generation = lake_brand.generation or replaced_at > now() - interval '24 hours'

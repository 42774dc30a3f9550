-- Adds what a step removed; the worker lives.
update erasure
set
    tried_at = now(),
    counts = counts || (
        select coalesce(jsonb_object_agg(key, value::bigint + coalesce((counts ->> key)::bigint, 0)), '{}')
        from jsonb_each_text($3::text::jsonb)
        where value::bigint <> 0
    )
where brand_id = $1 and id = any($2::uuid[])

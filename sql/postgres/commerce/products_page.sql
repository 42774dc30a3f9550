-- What an import or the store said of variants and images is of any shape: as texts of the names that are shown.
select
    id,
    title,
    status,
    coalesce((
        select jsonb_agg(jsonb_build_object('id', value ->> 'id', 'price', value ->> 'price', 'sku', value ->> 'sku') order by place)
        from jsonb_array_elements(case when jsonb_typeof(variants) = 'array' then variants end)
            with ordinality as variant (value, place)
        where value ->> 'id' is not null
    ), '[]') as variants,
    coalesce((
        select jsonb_agg(
            jsonb_build_object('id', coalesce(value ->> 'id', place::text), 'url', value ->> 'url', 'alt_text', value ->> 'alt_text')
            order by place
        )
        from jsonb_array_elements(case when jsonb_typeof(images) = 'array' then images end) with ordinality as image (value, place)
        where value ->> 'url' is not null
    ), '[]') as images
from product
where brand_id = $1 and not deleted and ($2::text is null or id > $2)
order by id
limit $3

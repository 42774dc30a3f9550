create view product_read as
select
    *,
    from_json(variants, '["JSON"]') as variant_list,
    from_json(images, '["JSON"]') as image_list
from picked;

insert into fault (n, field, value, reason)
select n, 'variants', left(variants, 200), 'holds an entry that is no object or whose price is no amount'
from product_read
where n not in (select n from fault) and len(list_filter(variant_list, lambda entry:
    coalesce(json_type(entry), '') <> 'OBJECT'
    or (
        entry ->> '$.price' is not null
        and not coalesce(try_cast(entry ->> '$.price' as decimal(18, 2)) between 0 and 99999999999.99, false)
    )
)) > 0;

insert into fault (n, field, value, reason)
select n, 'images', left(images, 200), 'holds an entry that is no object'
from product_read
where n not in (select n from fault)
    and len(list_filter(image_list, lambda entry: coalesce(json_type(entry), '') <> 'OBJECT')) > 0;

create table product as
select
    n, id, title, coalesce(status, 'active') as status, updated_at,
    to_json(list_transform(coalesce(variant_list, []), lambda entry: {
        'id': store_id(entry ->> '$.id'), 'price': try_cast(entry ->> '$.price' as decimal(18, 2))::varchar, 'sku': entry ->> '$.sku'
    })) as variants,
    to_json(list_transform(coalesce(image_list, []), lambda entry: {
        'id': store_id(entry ->> '$.id'), 'url': entry ->> '$.url', 'alt_text': coalesce(entry ->> '$.alt_text', entry ->> '$.altText')
    })) as images
from product_read
where n not in (select n from fault);

insert into fault (n, field, value, reason)
select n, 'variants', json_array_length(variants) || ' variants, ' || json_array_length(images) || ' images', 'come to more than 2 MB'
from product
where strlen(variants) + strlen(images) > 2097152;

-- A later version of a product replaces an earlier one.
create table ready as
select
    *,
    floor(sum(1 / getvariable('chunk_size') + (strlen(title) + strlen(variants) + strlen(images)) / getvariable('chunk_bytes')) over (order by n rows unbounded preceding) - 1e-9)::integer as chunk
from (
    select *
    from product
    where n not in (select n from fault)
    qualify row_number() over (partition by id order by updated_at desc nulls last, n desc) = 1
);

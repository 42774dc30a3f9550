-- makes: demo_product (200 products), demo_pick (popularity rank × 4 + variant → what was picked) and the
-- pick_* lists.
-- reads variables: seed, the word lists.
create table demo_product as
with numbered as (
  select p::INTEGER as product, (p % 6)::INTEGER as collection, (p // 6)::INTEGER as i,
    -- The last eight ranks are drafts and archived products: nobody meets them.
    (row_number() over (order by roll(p, 0, 'rank')) - 1)::INTEGER as rank
  from range(200) as t(p)
),
titled as (
  select *, getvariable('adjectives')[1 + collection][1 + i % 7] || ' '
    || getvariable('nouns')[1 + collection][1 + i // 7] as title,
    getvariable('sizes')[1 + collection] as sizes,
    -- Whole amounts that end in 00, 50 or 90 cents, within the range of the collection.
    ([900, 600, 2400, 1400, 1200, 400][1 + collection]
      * (1 + 1.6e0 * roll(product, 0, 'price')))::INTEGER // 100 * 100
      + [0, 50, 90, 90][1 + die(product, 0, 'cents', 4)] as base_cents
  from numbered
)
select product, collection, rank, title,
  lower(regexp_replace(title, '[^A-Za-z0-9]+', '-', 'g')) as handle,
  (8200000000000 + product)::VARCHAR as product_id,
  case when rank < 192 then 'active' when rank % 2 = 0 then 'draft' else 'archived' end as status,
  list_transform(range(len(sizes)), lambda v: {
    id: (4600000000000 + product * 8 + v)::VARCHAR,
    cents: base_cents * [10, 18, 32][1 + v] // 10 // 10 * 10,
    sku: upper(getvariable('collections')[1 + collection][1:3]) || '-' || lpad(product::VARCHAR, 3, '0')
      || '-' || (v + 1)
  }) as variants
from titled;

-- Four places for each product: one with fewer variants has them more than once.
create table demo_pick as
select (rank * 4 + place)::INTEGER as pick, product_id, title, handle, collection,
  variants[1 + place % len(variants)] as variant
from demo_product, range(4) as t(place)
where rank < 192;

set variable pick_product_id = (select list(product_id order by pick) from demo_pick);
set variable pick_variant_id = (select list(variant.id order by pick) from demo_pick);
set variable pick_title = (select list(title order by pick) from demo_pick);
set variable pick_handle = (select list(handle order by pick) from demo_pick);
set variable pick_sku = (select list(variant.sku order by pick) from demo_pick);
set variable pick_cents = (select list(variant.cents::BIGINT order by pick) from demo_pick);
-- What a subscription can be for: coffee and tea.
set variable subscribable = (select list(pick order by pick) from demo_pick where collection < 2);

-- makes: the rows of products.parquet.
select product_id as id, title, status,
  to_json(list_transform(variants, lambda v: {id: v.id, price: money(v.cents)::VARCHAR, sku: v.sku}))
    as variants,
  to_json([{
    id: product_id || '01', url: getvariable('storefront') || '/images/' || handle || '.jpg', alt_text: title
  }]) as images
from demo_product
order by product;

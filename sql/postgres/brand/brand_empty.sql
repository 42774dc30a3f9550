select
    not exists (select from product where brand_id = $1)
    and not exists (select from customer where brand_id = $1)
    and not exists (select from store_order where brand_id = $1) as empty

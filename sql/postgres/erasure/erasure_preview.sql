-- What the tables hold of a customer, for whoever is asked to confirm.
select
    (select count(*) from store_order where brand_id = $1 and subject = any($2::integer[])) as orders,
    (select count(*) from checkout where brand_id = $1 and subject = any($2::integer[])) as checkouts,
    (select count(*) from subscription where brand_id = $1 and subject = any($2::integer[])) as subscriptions,
    (select count(*) from contact where brand_id = $1 and subject = any($2::integer[])) as contacts

-- What is null stays as it is.
update brand
set
    name = coalesce($2, name),
    shop_domain = coalesce($3, shop_domain),
    storefront_domains = coalesce($4::text[], storefront_domains),
    currency_code = coalesce($5, currency_code),
    timezone = coalesce($6, timezone),
    default_phone_region = coalesce($7, default_phone_region),
    features = coalesce($8::text[], features)
where id = $1

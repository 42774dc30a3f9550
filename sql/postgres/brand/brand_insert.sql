insert into brand (
    id, name, shop_domain, currency_code, timezone, default_phone_region, features, storefront_domains
)
values ($1, $2, $3, $4, $5, $6, $7, $8)

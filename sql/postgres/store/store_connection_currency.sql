-- The shop's currency, which its orders ($2) say where the store did not.
update store_connection set currency_code = $2 where brand_id = $1 and currency_code is null

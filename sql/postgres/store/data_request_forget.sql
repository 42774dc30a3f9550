-- Whoever is erased has nothing left to be shown.
delete from data_request
where brand_id = $1 and (store_customer_id = $2 or email = $3 or phone = $4)

select * from brand_shown where id = $1::uuid or shop_domain = $2 or name = $3

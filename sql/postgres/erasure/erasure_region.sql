select default_phone_region as region from brand where id = $1

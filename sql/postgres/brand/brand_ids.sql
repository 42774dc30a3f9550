select id from brand

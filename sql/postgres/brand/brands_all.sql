select * from brand_shown order by created_at

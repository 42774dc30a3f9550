update campaign
set
    status = $3, updated_at = now(),
    activated_at = case when $3 = 'active' then $4::timestamptz else activated_at end,
    awaits_since = case when $3 = 'active' then $4::timestamptz else awaits_since end
where brand_id = $1 and id = $2

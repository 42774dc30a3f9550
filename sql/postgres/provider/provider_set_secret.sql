-- $4: for how many hours the one before is taken, too.
update provider
set
    webhook_secret = $3,
    former_secret = case when $4::integer > 0 then webhook_secret end,
    former_until = case when $4::integer > 0 and webhook_secret is not null then now() + make_interval(hours => $4) end,
    updated_at = now()
where brand_id = $1 and id = $2

-- As campaign_lock, for all campaigns of the brand that are not archived.
select id from campaign where brand_id = $1 and status <> 'archived' order by id for update

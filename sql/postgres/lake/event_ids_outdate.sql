-- Files of event ids that were all received earlier: no merge takes those of the highest level.
update lake_file set retired_at = now()
where brand_id is null and relation = 'event_ids' and retired_at is null
    and created_at < now() - make_interval(days => $1::integer)

-- Files of event ids that were all received earlier than what is to come is compared with: no merge takes those of the
-- highest level.
update lake_file set retired_at = now()
where brand_id is null and relation = 'event_ids' and retired_at is null
    and created_at < now() - make_interval(days => $1::integer)
    and not exists (select from event_log_waiting where received_at < now() - interval '1 day')

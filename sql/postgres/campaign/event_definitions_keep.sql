-- Until the transaction ends event types keep their names. Taken before campaigns are locked, as a renaming does.
select id from event_definition where brand_id = $1 order by id for key share

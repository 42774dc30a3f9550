-- The transaction id stays: the batch keeps its place in the order of commits.
update event_log set payload = $3
where received_at = $1::text::timestamptz and batch_id = $2

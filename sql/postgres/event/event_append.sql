-- In the transaction of what the events tell of. Nothing when the lines are of another brand than the transaction.
insert into event_log (received_at, batch_id, event_count, payload)
select $3, $4, $5, $6
where $1::uuid = $2::uuid

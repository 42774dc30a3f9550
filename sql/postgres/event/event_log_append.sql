-- A batch that is sent again after a lost connection is there already.
insert into event_log (received_at, batch_id, event_count, payload)
values ($1, $2, $3, $4)
on conflict do nothing

-- One record batch and the note that this chunk of the file is in, together or not at all.
with step as (
    insert into import_chunk (brand_id, source, chunk)
    values ($1, $2, $3)
    on conflict do nothing
    returning chunk
)

insert into event_log (received_at, batch_id, event_count, payload)
select $4, $5, $6, $7
from step

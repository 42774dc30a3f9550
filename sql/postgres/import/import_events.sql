-- One record batch and the note of which rows of this chunk of the file are not in, together or not at all: the first time,
-- or where the rows of the batch were among those.
with step as (
    insert into import_chunk (brand_id, source, chunk, refused)
    values ($1, $2, $3, $8::bigint[])
    on conflict (brand_id, source, chunk) do update
    set refused = excluded.refused
    where import_chunk.refused @> $9::bigint[]
    returning chunk
)

insert into event_log (received_at, batch_id, event_count, payload)
select $4, $5, $6, $7
from step

-- Of what could not be stored the newest bodies stay, as many as come to $2 bytes and $3 letters; older rows say so ($4).
with counted as (
    select
        id,
        sum(octet_length(body)) over newest_first as bytes,
        row_number() over newest_first as place
    from dead_letter
    where brand_id = $1 and body <> ''
    window newest_first as (order by failed_at desc, id desc)
),

beyond as (
    select id
    from dead_letter
    where brand_id = $1 and body <> '' and id in (select id from counted where bytes > $2 or place > $3)
    -- One that somebody replays may go the next time.
    for update skip locked
)

update dead_letter
set body = '', reason = reason || $4::text
from beyond
where dead_letter.brand_id = $1 and dead_letter.id = beyond.id

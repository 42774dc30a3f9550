-- All that is kept as it was sent, whomever it names; of events that the lake refused the lines of the log as well.
with deliveries as (
    update store_delivery set outcome = 'ignored', reason = 'erased', payload = null
    where brand_id = $1 and payload is not null
),

waiting as (
    update store_event set content = null, waits_for = null
    where brand_id = $1 and content is not null
),

letters as (
    delete from dead_letter
    where brand_id = $1
),

refused as (
    delete from dead_event
    where brand_id = $1
    returning batch_id, line
)

insert into erased_line (batch_id, line)
select batch_id, line from refused
on conflict do nothing

-- All that is kept as it was sent, whomever it names, and what people who have no profile asked or claimed to be; of events
-- that the lake refused the lines of the log as well.
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

requests as (
    update data_request set store_customer_id = null, email = null, phone = null
    where brand_id = $1 and (store_customer_id is not null or email is not null or phone is not null)
),

claims as (
    delete from visitor_claim
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

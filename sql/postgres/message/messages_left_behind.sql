-- Messages of a channel ($2) that the gateway before may have taken: no other one can tell.
update message
set gateway_replaced = true
where brand_id = $1 and channel = $2 and status = 'queued' and (may_have_arrived or begun_at is not null)

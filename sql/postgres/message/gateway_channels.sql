-- Across brands: only the last part of an address says whose channel it is.
select brand_id, channel, secret, lookup_id
from message_channel
where lookup_id = any($1::text[]) and adapter <> 'outbox'

-- Across brands: only the last part of an address says whose channel it is.
select brand_id, channel, adapter, settings, secret, lookup_id, messages_per_second
from message_channel
where lookup_id = any($1::text[]) and adapter <> 'outbox'

select channel, adapter, settings, secret, lookup_id, messages_per_second
from message_channel
where brand_id = $1
order by channel

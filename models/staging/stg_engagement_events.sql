-- what: messages that were sent to customers and delivered, what they replied and the links that they clicked; not those of email
-- grain: event_id
-- refresh: at every read
select
    event_id,
    customer,
    event_type as event_kind,
    campaign_id,
    message_id,
    conversation_id,
    occurred_at
from stg_events
where event_type in ('message_sent', 'message_delivered', 'message_replied', 'link_clicked')
    and coalesce(properties ->> '$.channel', '') != 'email'

-- what: clicks on shortened links of messages up to as_of
-- grain: click_id
-- refresh: at every read
-- from: link_clicks
select
    click.click_id,
    click.message_id,
    click.conversation_id,
    click.clicked_at
from link_clicks as click
cross join params
where click.clicked_at <= params.as_of

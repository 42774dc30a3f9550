-- what: orders placed up to as_of that followed a conversation, in their present state
-- grain: order_id
-- refresh: at every read
-- from: attributions
select
    attribution.order_id,
    attribution.conversation_id,
    attribution.campaign_id,
    attribution.recovered,
    attribution.touch,
    attribution.touch_at,
    attribution.ordered_at,
    attribution.amount,
    attribution.currency_code
from attributions as attribution
cross join params
where attribution.ordered_at <= params.as_of

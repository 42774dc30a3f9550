-- When shoppers were messaged first about the checkouts that conversations $2 are about: one that is completed later was
-- recovered, whatever is said to them after that. $3: now.
with theirs as (
    select checkout.id
    from conversation
    join checkout on checkout.brand_id = conversation.brand_id and checkout.id = conversation.checkout_id
    where conversation.brand_id = $1 and conversation.id = any($2::uuid[]) and messaged_at is null
    -- So that two who send wait for each other at most one way.
    order by checkout.id
    for update of checkout
)

update checkout
set messaged_at = $3
from theirs
where checkout.brand_id = $1 and checkout.id = theirs.id

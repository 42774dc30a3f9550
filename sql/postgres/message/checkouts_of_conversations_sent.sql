-- When shoppers were messaged first about the checkouts that conversations $2 are about: one that is completed later was
-- recovered, whatever is said to them after that. $3: now.
update checkout
set messaged_at = $3
from conversation
where
    conversation.brand_id = $1
    and conversation.id = any($2::uuid[])
    and checkout.brand_id = conversation.brand_id
    and checkout.id = conversation.checkout_id
    and checkout.messaged_at is null

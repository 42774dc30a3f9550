-- $2: external ids, $3: when each started as far as is known, $4: when it ended, null while it runs or is paused, $5: the
-- time of its newest version, null where that was there already.
update subscription
set
    started_at = least(subscription.started_at, given.started_at),
    cancelled_at = given.ended_at,
    updated_at = coalesce(given.updated_at, subscription.updated_at)
from
    unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[])
        as given (external_id, started_at, ended_at, updated_at)
where
    subscription.brand_id = $1
    and subscription.external_id = given.external_id
    and (subscription.started_at, subscription.cancelled_at, subscription.updated_at)
    is distinct from (
        least(subscription.started_at, given.started_at), given.ended_at, coalesce(given.updated_at, subscription.updated_at)
    )

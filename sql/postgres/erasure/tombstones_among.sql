-- `offset 0`: behind the policy of the table no index is used for what a function answers, but for a column.
select kind, value, erased_at
from unnest($2::text[], $3::text[]) as given (kind, value)
cross join lateral (select tombstone_hash($1, kind, value) as hash offset 0) as asked
join tombstone on brand_id = $1 and tombstone.hash = asked.hash

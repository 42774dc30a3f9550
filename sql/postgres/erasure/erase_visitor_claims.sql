-- Those of visitors who only said that they are the erased ones, too: somebody new may come with what they said. Each way by
-- itself: of one condition with `or` no index answers both.
with theirs as (
    select claim.kind, claim.value, claim.subject
    from unnest($2::integer[]) as given (subject)
    cross join lateral (
        select * from visitor_claim
        where brand_id = $1 and visitor_claim.subject = given.subject
        offset 0
    ) as claim
    union
    select claim.kind, claim.value, claim.subject
    from unnest($3::text[], $4::text[]) as given (kind, value)
    cross join lateral (
        select * from visitor_claim
        where brand_id = $1 and visitor_claim.kind = given.kind and visitor_claim.value = given.value
        offset 0
    ) as claim
    where claim.claimed_at <= $5
)

delete from visitor_claim
using theirs
where
    brand_id = $1
    and visitor_claim.kind = theirs.kind
    and visitor_claim.value = theirs.value
    and visitor_claim.subject = theirs.subject

-- With ten who were named with it, its holder is the eleventh.
select
    claim.kind,
    claim.value,
    (
        select array_agg(customer.id order by customer.subject)
        from customer
        where customer.brand_id = $1 and customer.subject = any(array_agg(claim.subject) || min(identifier.subject))
    ) as customer_ids
from identifier_claim as claim
join identifier on identifier.brand_id = $1 and identifier.kind = claim.kind and identifier.value = claim.value
where claim.brand_id = $1
group by claim.kind, claim.value
having count(*) >= 10
order by claim.kind, claim.value

-- With ten who were named with it, its holder is the eleventh.
select
    kind,
    value,
    (
        select array_agg(customer.id order by customer.subject)
        from customer
        where customer.brand_id = claim.brand_id and customer.subject = any(array_agg(claim.subject) || min(identifier.subject))
    ) as customer_ids
from identifier_claim as claim
join identifier using (brand_id, kind, value)
where brand_id = $1
group by claim.brand_id, kind, value
having count(*) >= 10
order by kind, value

-- Whose they are as far as is noted: of those who share one only the first are.
select
    kind,
    value,
    (
        select array_agg(customer.id order by customer.subject)
        from customer
        where
            customer.brand_id = identifier.brand_id
            and customer.subject = any(
                array(
                    select claim.subject
                    from identifier_claim as claim
                    where claim.brand_id = $1 and claim.kind = identifier.kind and claim.value = identifier.value
                )
                || identifier.subject
            )
    ) as customer_ids
from identifier
where brand_id = $1 and shared
order by kind, value

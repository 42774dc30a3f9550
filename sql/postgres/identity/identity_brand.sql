select
    shop_domain,
    default_phone_region,
    (select max(erased_at) from tombstone where tombstone.brand_id = brand.id) as newest_erasure,
    exists (select from identifier_claim where identifier_claim.brand_id = brand.id) as has_claims,
    exists (select from visitor_claim where visitor_claim.brand_id = brand.id) as has_waiting,
    (
        select coalesce(json_agg(json_build_object('from', from_subject, 'to', to_subject)), '[]')
        from merge
        where merge.brand_id = brand.id and barred
    ) as bars
from brand
where id = $1

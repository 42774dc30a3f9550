-- Its sessions and grants go with it, and so do the tokens of these.
with grants as (
    select id
    from sign_in_grant
    where brand_id = $1 and user_id = $2
),

records as (
    delete from oidc_record
    where
        grant_id in (select id from grants)
        or model = 'Grant' and id in (select sha256(convert_to(grants.id, 'UTF8')) from grants)
)

delete from membership
where brand_id = $1 and user_id = $2

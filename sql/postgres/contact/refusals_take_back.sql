-- Takes back what a contact ($2) refused on a channel ($3) by a source ($4) since an instant ($5), also where it was noted for
-- others at the same address.
with own as (
    delete from contact_consent
    where brand_id = $1 and contact_id = $2 and channel = $3 and source = $4 and state = 'unsubscribed' and at >= $5
    returning contact_id, address, at
),

others as (
    delete from contact_consent as word
    using own
    where
        word.brand_id = $1
        and word.address = own.address
        and word.address <> ''
        and word.contact_id <> $2
        and word.channel = $3
        and word.source = $4
        and word.state = 'unsubscribed'
        and word.at = own.at
    returning word.contact_id, word.address, word.at
)

select contact_id, at from own
union
select contact_id, at from others

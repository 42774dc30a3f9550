-- Those of visitors who only said that they are the erased ones, too: somebody new may come with what they said.
delete from visitor_claim
where
    brand_id = $1
    and (
        subject = any($2::integer[])
        or claimed_at <= $5 and (kind, value) in (select unnest($3::text[]), unnest($4::text[]))
    )

-- At most 100 of an identifier: whoever claims to be somebody a million times must not make the day long on which that
-- somebody comes.
with given as (
    select kind, value, subject, row_number() over (partition by kind, value order by position) as nth
    from unnest($2::text[], $3::text[], $4::integer[]) with ordinality as given (kind, value, subject, position)
)

insert into visitor_claim (brand_id, kind, value, subject)
select $1, kind, value, subject
from given
where nth + (
    select count(*)
    from visitor_claim as waiting
    where waiting.brand_id = $1 and waiting.kind = given.kind and waiting.value = given.value
) <= 100
order by nth

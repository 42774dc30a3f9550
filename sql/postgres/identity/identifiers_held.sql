-- Columns as JSON arrays in one row: rows of their own cost more to receive than to find. `= any` is looked up by
-- index or hash whatever the statistics say; a join with the values compared all with all on a new table
-- (50,000 values: 86 s against 0.1 s).
select
    coalesce(array_to_json(array_agg(value)), '[]') as values,
    coalesce(array_to_json(array_agg(subject)), '[]') as subjects,
    coalesce(array_to_json(array_agg(value) filter (where shared)), '[]') as shared
from identifier
where brand_id = $1 and kind = $2 and value = any($3::text[])

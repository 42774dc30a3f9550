-- Segments that a campaign can name.
select id, name
from segment
where brand_id = $1 and status = 'active'
order by lower(name), id

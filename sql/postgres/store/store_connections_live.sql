-- The longest not reconciled first.
select brand_id
from store_connection
where status <> 'disconnected'
order by reconcile_began_at nulls first, brand_id

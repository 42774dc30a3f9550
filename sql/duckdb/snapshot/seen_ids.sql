-- What the next 14 days compare new event ids with.
create table new_ids as
select id_hash, id_check, received_at::date as received_on
from kept
join lines using (n)
where id_hash is not null

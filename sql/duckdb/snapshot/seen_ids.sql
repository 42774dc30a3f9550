-- What the next 14 days compare new event ids with.
create table new_ids as
select id_hash, id_check, received_on
from line_ids
anti join left_out using (n)

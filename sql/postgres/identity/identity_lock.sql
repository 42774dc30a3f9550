-- Calls for one brand take turns. Not `for update`: rows that reference the brand may still be written meanwhile.
select id
from brand
where id = $1
for no key update

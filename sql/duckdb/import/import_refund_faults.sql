-- What is wrong with a refund as the sum of its rows.
insert into fault (n, field, value, reason)
select min(n), 'total', sum(total)::varchar, 'is too large as the sum of the rows'
from picked
where external_id is not null and n not in (select n from fault)
group by external_id
having sum(total) >= 100000000000;

-- Rows that share an external id are one record, which is never imported without one of them: when one row is refused,
-- all are.
insert into fault
select picked.n, 'external_id', picked.external_id, bad.field || ' ' || bad.reason, bad.n
from picked
join (
    select external_id, min(n) as n, min_by(field, n) as field, min_by(reason, n) as reason
    from (select fault.n, field, reason, external_id from fault join picked using (n))
    where external_id is not null
    group by external_id
) bad using (external_id)
where picked.n not in (select n from fault);

-- Rows that share an external id are one record, which is never imported without one of them: when one row is refused or
-- broken, all are.
insert into fault
select picked.n, 'external_id', picked.external_id, 'row ' || bad.row || ' with this id is refused, hence all of its rows: ' || bad.reason
from picked
join (
    select external_id, min("row") as "row", min_by(reason, "row") as reason
    from (
        select row_of(fault.n) as "row", field || ' ' || reason as reason, external_id from fault join picked using (n)
        union all
        select n, reason, external_id from broken join broken_part using (n)
    )
    where external_id is not null
    group by external_id
) bad using (external_id)
where picked.n not in (select n from fault);

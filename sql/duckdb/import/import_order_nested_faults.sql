-- What is wrong with `lines` beside what is wrong with a field of a line.
insert into fault (n, field, value, reason)
select n, 'lines', left(any_value(lines), 200), 'holds an entry that is no object'
from element
join picked using (n)
where json_type(entry) <> 'OBJECT' and n not in (select n from fault)
group by n;

insert into fault (n, field, value, reason)
select other.n, 'lines', left(other.lines, 200), 'are other lines than row ' || row_of(first.n) || ' has of this order: map updated_at if it was changed'
from (select n from first_lines where is_repeated)
join picked first using (n)
join picked other on other.external_id = first.external_id
where other.lines <> first.lines and other.n not in (select n from fault);

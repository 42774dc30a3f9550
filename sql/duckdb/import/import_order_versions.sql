-- Rows of one order that say when it was changed are versions of it, of which the latest is taken.
delete from picked
where n in (
    select n
    from picked
    where n not in (select n from fault)
    qualify updated_at < max(updated_at) over (partition by external_id)
);

-- One that does not say when comes after those that do.
set variable undated_last = true

-- One row per order: a later version of an order replaces an earlier one.
delete from picked
where n in (
    select n
    from picked
    where fault is null
    qualify row_number() over (partition by external_id order by updated_at desc nulls last, n desc) > 1
)

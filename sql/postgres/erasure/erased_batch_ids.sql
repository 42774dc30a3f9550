select distinct batch_id from erased_line order by batch_id

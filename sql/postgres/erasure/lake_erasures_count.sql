-- $1: only when none was counted since there were so many; null: in any case.
update lake_state set erasures = erasures + 1
where $1::bigint is null or erasures = $1

select name, value from secret where sealed order by name limit 1

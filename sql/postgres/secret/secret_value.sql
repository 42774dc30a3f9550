select value from secret where name = $1

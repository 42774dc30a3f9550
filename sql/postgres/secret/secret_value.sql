select value, sealed from secret where name = $1

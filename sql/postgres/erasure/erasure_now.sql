select date_trunc('milliseconds', clock_timestamp()) as now

-- In a standby both are true.
select current_setting('transaction_read_only') = 'on' as refuses_writes, pg_is_in_recovery() as is_standby

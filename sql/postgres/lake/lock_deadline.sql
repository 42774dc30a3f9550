-- Until the transaction ends. Who comes later waits behind whoever waits for a lock.
select set_config('lock_timeout', '1s', true)

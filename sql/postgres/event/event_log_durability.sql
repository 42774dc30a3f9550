select current_setting('fsync')::boolean as fsync, current_setting('synchronous_commit') as synchronous_commit

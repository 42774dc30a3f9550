-- Until the transaction ends no batch moves to another partition, and statements after this one know all partitions: one that
-- waits for a partition while it is planned has what moved out of it neither there nor where it is now.
lock table event_log in access share mode

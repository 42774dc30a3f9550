-- One transaction at a time writes records of a brand's store, or what a file says of them: sums over refunds and
-- transitions of subscriptions are read and written in it, and whether the store said anything of a record.
select pg_advisory_xact_lock(hashtextextended($1::uuid::text || ' store', 0))

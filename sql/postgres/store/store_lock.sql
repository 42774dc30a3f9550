-- One transaction at a time writes records of a brand's store: sums over refunds and transitions of subscriptions are
-- read and written in it.
select pg_advisory_xact_lock(hashtextextended($1::uuid::text || ' store', 0))

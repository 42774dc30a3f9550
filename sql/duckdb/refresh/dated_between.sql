-- Rows that a staging model shows as of one of two instants only: every time that one compares with as_of.
with span as (select least($1::timestamp, $2::timestamp) as lo, greatest($1::timestamp, $2::timestamp) as hi)

select
    exists (from orders, span where created_at > lo and created_at <= hi)
    or exists (from checkouts, span where created_at > lo and created_at <= hi)
    or exists (from subscriptions, span where started_at > lo and started_at <= hi)
    or exists (from events, span where occurred_at > lo and occurred_at <= hi) as some

-- makes: the rows of checkouts.parquet: one per session in which a checkout began, completed or not.
-- One that nothing happened to for 60 minutes is abandoned; one that was completed after that is recovered.
with started as (
  select checkout, actor, cart_total, cart, lines, signed_in, gives_contact, device,
    step_at(session, started_at, gap_ms, start_seq, last_seq) as created_at,
    step_at(session, started_at, gap_ms, last_seq, last_seq) as active_at
  from demo_session
  join demo_way using (path, lines)
  where start_seq is not null
    and step_at(session, started_at, gap_ms, start_seq, last_seq) <= getvariable('ends_at')
),
completed as (
  select demo_session.checkout, demo_session.total, demo_order.created_at as completed_at
  from demo_session
  join demo_order using (number)
),
judged as (
  select *, case
      when completed_at <= active_at + interval 60 minutes then 'completed'
      when completed_at is not null then 'recovered'
      when active_at + interval 60 minutes <= getvariable('ends_at') then 'abandoned'
      else 'open' end as state
  from started
  left join completed using (checkout)
)
select token_of(checkout, 'checkout') as external_id,
  case when signed_in or actor >= 0 and (gives_contact or completed_at is not null)
    then customer_id_of(actor) end
    as customer_external_id,
  case when customer_external_id is null then anonymous_id_of(device) end as anonymous_id,
  state,
  money(coalesce(total, cart_total)) as total,
  cart_items(cart, lines)::INTEGER as item_count,
  getvariable('storefront') || '/checkouts/' || token_of(checkout, 'checkout') as url,
  created_at,
  case when state in ('abandoned', 'recovered') then active_at + interval 60 minutes end as abandoned_at,
  completed_at,
  coalesce(completed_at, case when state = 'abandoned' then active_at + interval 60 minutes end,
    least(active_at, getvariable('ends_at'))) as updated_at,
  getvariable('currency') as currency_code
from judged
order by created_at, checkout;

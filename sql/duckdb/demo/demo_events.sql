-- makes: demo_event, a view with one narrow row per event; only these are sorted, demo_file_events.sql adds the text.
-- reads variables: ends_at.
create view demo_event as
with steps as (
  select step_at(session, started_at, gap_ms, seq, last_seq) as occurred_at, session, seq, kind, actor, device, checkout,
    number, coalesce(total, cart_total) as total, code, signed_in, cart, lines, path, line
  from demo_session
  join demo_step using (path, lines)
  join demo_way using (path, lines)
)
select occurred_at, session, seq, kind, actor, device, signed_in, path,
  -- What a step without a line shows is chosen anew at each step.
  case when kind = 'remove' then pick_of(actor, cart, 0)
    when line is not null then pick_of(actor, cart, line)
    when kind = 'product' then pick_of(actor, session * 32 + seq, 0) end::SMALLINT as pick,
  case when kind in ('add', 'remove') then quantity_of(cart, coalesce(line, 0)) end::TINYINT as quantity,
  case when kind in ('cart', 'start', 'contact', 'address', 'shipping', 'pay', 'done', 'resume') then cart end as cart,
  lines, checkout, total, number, code
from steps
where occurred_at <= getvariable('ends_at');

-- makes: demo_event, one narrow row per event in the order of time. demo_file_events.sql adds the text after the
-- sort, so that a sort of many events moves a tenth of the bytes.
-- reads variables: ends_at.
create table demo_event as
with steps as (
  select step_at(session, started_at, gap_ms, seq, last_seq) as occurred_at, session, seq, kind, event_type,
    shows_product, in_checkout, line, actor, device, signed_in, cart, lines, checkout, number, code,
    coalesce(total, cart_total) as total
  from demo_session
  join demo_step using (path, lines)
  join demo_way using (path, lines)
)
select * exclude (line),
  -- A product that is only looked at is chosen anew at each step.
  case when shows_product then
    pick_of(actor, case when line is null then session * 32 + seq else cart end, coalesce(line, 0))
  end::SMALLINT as pick,
  case when shows_product and kind <> 'product' then quantity_of(cart, line) end::TINYINT as quantity
from steps
where occurred_at <= getvariable('ends_at')
order by occurred_at, session, seq;

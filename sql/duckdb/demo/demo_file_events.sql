-- makes: the rows of events.parquet, in the order of time. A browser knows its visitor's store id when signed
-- in and at the end of a checkout, and an email from the contact step on; the first event of a session tells
-- where the visitor came from.
with located as (
  select *,
    case
      when kind = 'page' then getvariable('pages')[1 + die(session, seq, 'page', 6)]
      when kind = 'join' then '/pages/newsletter'
      when kind = 'search' then '/search'
      when kind in ('cart', 'remove') then '/cart'
      when kind = 'collection' then '/collections/' || collection_handle(die(session, seq, 'collection', 6))
      when shows_product then '/products/' || getvariable('pick_handle')[1 + pick]
      else '/checkouts/' || token_of(checkout, 'checkout') end as path_name,
    -- Whoever comes back to a checkout does so by the link of a message.
    case when kind = 'resume' then 19 else die(session, 0, 'channel', 19) end as channel
  from demo_event
)
select token_of(session * 32 + seq, 'event') as event_id,
  event_type::VARCHAR as event_type,
  occurred_at,
  anonymous_id_of(device) as anonymous_id,
  case when actor >= 0 and (signed_in or kind = 'done') then customer_id_of(actor) end as store_customer_id,
  case when actor >= 0 and kind in ('contact', 'done', 'join') then email_of(actor) end as email,
  -- What such an event carries is set on the profile: nothing of the page.
  if(kind = 'join', '{"newsletter":"yes"}', concat(
    '{"url":"', getvariable('storefront'), path_name, '"', pair('path', path_name),
    pair('session_id', token_of(session, 'session')),
    case when seq = 0 then arrival_properties(channel, path_name, month(occurred_at)) end,
    case
      when shows_product then product_properties(pick, quantity)
      when in_checkout then concat(checkout_properties(checkout), cart_properties(cart, lines, total))
      when kind = 'cart' then concat(pair('title', 'Your cart'), cart_properties(cart, lines, total))
      when kind = 'collection' then collection_properties(die(session, seq, 'collection', 6))
      when kind = 'search' then pair('query', getvariable('search_words')[1 + die(session, seq, 'query', 12)])
      else pair('title', 'Corner Roastery') end,
    case when kind = 'start' then start_properties(checkout, actor, cart, lines)
      when kind = 'done' then done_properties(number, code) end,
    '}'))::JSON as properties
from located;

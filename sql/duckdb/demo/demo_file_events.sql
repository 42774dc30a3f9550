-- makes: the rows of events.parquet, in the order of time. A browser knows its visitor's store id when signed in and at the
-- end of a checkout, and an email from the contact step on; the first event of a session tells where the visitor came from.
with located as (
  select *, seq = 0 as first,
    case kind
      when 'page' then ['/', '/', '/', '/pages/about', '/pages/shipping', '/blogs/journal'][1 + die(session, seq, 'page', 6)]
      when 'join' then '/pages/newsletter'
      when 'search' then '/search'
      when 'cart' then '/cart'
      when 'collection' then '/collections/' || collection_handle(die(session, seq, 'collection', 6))
      when 'product' then '/products/' || getvariable('pick_handle')[1 + pick]
      when 'add' then '/products/' || getvariable('pick_handle')[1 + pick]
      when 'remove' then '/cart'
      else '/checkouts/' || token_of(checkout, 'checkout') end as path_name,
    case when path = 24 then 12 else die(session, 0, 'channel', 20) end as channel
  from (from demo_event order by occurred_at, session, seq)
)
select token_of(session * 32 + seq, 'event') as event_id,
  event_type_of(kind) as event_type,
  occurred_at,
  anonymous_id_of(device) as anonymous_id,
  case when actor >= 0 and (signed_in or kind = 'done') then customer_id_of(actor) end as store_customer_id,
  case when actor >= 0 and (kind in ('contact', 'done', 'join')) then email_of(actor) end as email,
  json_merge_patch(
    json_object('url', getvariable('storefront') || path_name, 'path', path_name, 'session_id', token_of(session, 'session')),
    case when first then arrival(channel, path_name, month(occurred_at)) else '{}' end,
    case when kind in ('product', 'add', 'remove') then product_properties(pick, quantity)
      when cart is not null then cart_properties(kind, actor, cart, lines, checkout, total, number, code)
      when kind = 'collection' then collection_properties(die(session, seq, 'collection', 6))
      when kind = 'search' then json_object('query', getvariable('search_words')[1 + die(session, seq, 'query', 12)])
      when kind = 'join' then '{"title":"Newsletter","properties":{"newsletter":"yes"}}'
      else '{"title":"Corner Roastery"}' end
  ) as properties
from located;

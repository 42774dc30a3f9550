-- makes: the macros that spell an event: its type, and its properties under the built-in names. json_merge_patch drops nulls.
create macro event_type_of(kind) as case kind
  when 'page' then 'page_viewed' when 'collection' then 'collection_viewed' when 'search' then 'search_submitted'
  when 'product' then 'product_viewed' when 'add' then 'product_added_to_cart' when 'remove' then 'product_removed_from_cart'
  when 'cart' then 'cart_viewed' when 'start' then 'checkout_started' when 'contact' then 'checkout_contact_info_submitted'
  when 'address' then 'checkout_address_info_submitted' when 'shipping' then 'checkout_shipping_info_submitted'
  when 'pay' then 'payment_info_submitted' when 'done' then 'checkout_completed' when 'resume' then 'page_viewed'
  when 'join' then 'updateProperties' end;

create macro collection_handle(c) as lower(replace(getvariable('collections')[1 + c], ' ', '-'));
create macro collection_properties(c) as json_object('title', getvariable('collections')[1 + c],
  'collection_id', (3300000000000 + c)::VARCHAR, 'collection_title', getvariable('collections')[1 + c]);

create macro product_properties(pick, quantity) as json_object(
  'title', getvariable('pick_title')[1 + pick], 'product_id', getvariable('pick_product_id')[1 + pick],
  'variant_id', getvariable('pick_variant_id')[1 + pick], 'product_title', getvariable('pick_title')[1 + pick],
  'sku', getvariable('pick_sku')[1 + pick], 'price', money(getvariable('pick_cents')[1 + pick])::VARCHAR,
  'currency_code', getvariable('currency'), 'quantity', quantity);

create macro cart_properties(kind, actor, cart, lines, checkout, total, number, code) as json_object(
  'title', if(kind = 'cart', 'Your cart', 'Checkout'),
  'cart_id', token_of(cart, 'cart'),
  'checkout_id', case when kind <> 'cart' then token_of(checkout, 'checkout') end,
  'checkout_url', case when kind = 'start' then getvariable('storefront') || '/checkouts/' || token_of(checkout, 'checkout') end,
  'total', money(total)::VARCHAR,
  'currency_code', getvariable('currency'),
  'item_count', cart_items(cart, lines),
  'order_id', case when kind = 'done' then order_id_of(number) end,
  'order_number', case when kind = 'done' then '#' || number end,
  'discount_code', case when kind = 'done' then code end,
  'items', case when kind = 'start' then event_items(actor, cart, lines) end);

-- Channels 0–5 are direct, 6–9 search, 10–19 have campaign parameters.
create macro arrival(channel, path_name, month_number) as json_object(
  'landing_page', path_name,
  'referrer', [null, null, null, null, null, null, 'https://www.google.com/', 'https://www.google.com/', 'https://www.bing.com/',
    'https://duckduckgo.com/', null, null, null, 'https://www.google.com/', 'https://www.google.com/', 'https://l.facebook.com/',
    'https://l.instagram.com/', 'https://l.instagram.com/', 'https://www.tiktok.com/', null][1 + channel],
  'utm_source', [null, null, null, null, null, null, null, null, null, null, 'newsletter', 'newsletter', 'recovery', 'google',
    'google', 'facebook', 'instagram', 'instagram', 'tiktok', 'sms'][1 + channel],
  'utm_medium', [null, null, null, null, null, null, null, null, null, null, 'email', 'email', 'email', 'cpc', 'cpc', 'paid_social',
    'paid_social', 'social', 'paid_social', 'sms'][1 + channel],
  'utm_campaign', case when channel >= 10 then ['winter', 'winter', 'spring', 'spring', 'spring', 'summer', 'summer', 'summer', 'autumn',
    'autumn', 'black-friday', 'holidays'][month_number] || ['-news', '-new-arrivals', '-cart', '-brand', '-beans', '-lookalike',
    '-retargeting', '-creators', '-video', '-offer'][channel - 9] end,
  'utm_term', case when channel in (13, 14) then ['coffee beans', 'coffee subscription'][channel - 12] end,
  'utm_content', case when channel in (15, 16) then ['carousel', 'story'][channel - 14] end);

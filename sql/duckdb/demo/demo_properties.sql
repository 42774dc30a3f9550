-- makes: the macros that spell the properties of an event under the built-in names, as pieces of one JSON
-- text. A piece without a value is null, and concat leaves it out. All values come from demo_words.sql and
-- from hashes, so none needs escaping; concat takes a fifth of the time of json_object with json_merge_patch.
create macro pair(name, value) as ',"' || name || '":"' || value || '"';

create macro collection_handle(c) as lower(replace(getvariable('collections')[1 + c], ' ', '-'));
create macro collection_properties(c) as concat(
  pair('title', getvariable('collections')[1 + c]),
  pair('collection_id', (3300000000000 + c)::VARCHAR),
  pair('collection_title', getvariable('collections')[1 + c]));

create macro product_properties(pick, quantity) as concat(
  pair('title', getvariable('pick_title')[1 + pick]),
  pair('product_id', getvariable('pick_product_id')[1 + pick]),
  pair('variant_id', getvariable('pick_variant_id')[1 + pick]),
  pair('product_title', getvariable('pick_title')[1 + pick]),
  pair('sku', getvariable('pick_sku')[1 + pick]),
  pair('price', money(getvariable('pick_cents')[1 + pick])::VARCHAR),
  pair('currency_code', getvariable('currency')),
  ',"quantity":' || quantity);

create macro cart_properties(cart, lines, total) as concat(
  pair('cart_id', token_of(cart, 'cart')),
  pair('total', money(total)::VARCHAR),
  pair('currency_code', getvariable('currency')),
  ',"item_count":', cart_items(cart, lines));
create macro checkout_properties(checkout) as concat(
  pair('title', 'Checkout'), pair('checkout_id', token_of(checkout, 'checkout')));
create macro start_properties(checkout, actor, cart, lines) as concat(
  pair('checkout_url', getvariable('storefront') || '/checkouts/' || token_of(checkout, 'checkout')),
  ',"items":', to_json(event_items(actor, cart, lines)));
create macro done_properties(number, code) as concat(
  pair('order_id', order_id_of(number)), pair('order_number', '#' || number), pair('discount_code', code));

-- Where a session comes from: 0–5 directly, 6–9 by a search, 10–18 with campaign parameters, 19 by the link
-- of a recovery message.
set variable referrers = [
  null, null, null, null, null, null, 'https://www.google.com/', 'https://www.google.com/',
  'https://www.bing.com/', 'https://duckduckgo.com/', null, null, 'https://www.google.com/',
  'https://www.google.com/', 'https://l.facebook.com/', 'https://l.instagram.com/',
  'https://l.instagram.com/', 'https://www.tiktok.com/', null, null];
set variable sources = [
  null, null, null, null, null, null, null, null, null, null, 'newsletter', 'newsletter', 'google',
  'google', 'facebook', 'instagram', 'instagram', 'tiktok', 'sms', 'recovery'];
set variable mediums = [
  null, null, null, null, null, null, null, null, null, null, 'email', 'email', 'cpc', 'cpc',
  'paid_social', 'paid_social', 'social', 'paid_social', 'sms', 'email'];
set variable campaigns = [
  null, null, null, null, null, null, null, null, null, null, 'news', 'new-arrivals', 'brand', 'beans',
  'lookalike', 'retargeting', 'creators', 'video', 'offer', 'cart'];
set variable terms = [
  null, null, null, null, null, null, null, null, null, null, null, null, 'coffee beans',
  'coffee subscription', null, null, null, null, null, null];
set variable contents = [
  null, null, null, null, null, null, null, null, null, null, 'hero', null, null, null, 'carousel',
  'story', null, 'clip', null, null];
set variable seasons = [
  'winter', 'winter', 'spring', 'spring', 'spring', 'summer', 'summer', 'summer', 'autumn', 'autumn',
  'black-friday', 'holidays'];
create macro arrival_properties(channel, path_name, month_number) as concat(
  pair('landing_page', path_name),
  pair('referrer', getvariable('referrers')[1 + channel]),
  pair('utm_source', getvariable('sources')[1 + channel]),
  pair('utm_medium', getvariable('mediums')[1 + channel]),
  pair('utm_campaign', getvariable('seasons')[month_number] || '-' || getvariable('campaigns')[1 + channel]),
  pair('utm_term', getvariable('terms')[1 + channel]),
  pair('utm_content', getvariable('contents')[1 + channel]));

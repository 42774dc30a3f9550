-- makes: the macros of carts. What is in a cart follows from its number and its owner alone, so that an
-- order, its events and its checkout agree without being joined.
-- reads variables: line_counts, the pick_* lists of demo_products.sql.

-- A pick is a place of demo_pick: popularity rank × 4 + variant. Ranks follow a power law (u³): the first of
-- 192 products takes a sixth of the picks, the first ten more than a third.
set variable ranks = (
  select list((192 * i * i * i // (4096::BIGINT * 4096 * 4096))::INTEGER order by i) from range(4096) as t(i));
set variable quantities = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3];

-- A third of what people take is one of their three favourites.
create macro rank_of(owner, cart, line) as getvariable('ranks')[1 + case
  when die(cart, line, 'favourite?', 20) < 7
    then die(owner, die(cart, line, 'which favourite', 3), 'favourite', 4096)
  else die(cart, line, 'product', 4096) end];
-- Later lines take another remainder of the rank modulo 4, so that no cart of up to four lines repeats a
-- product.
create macro pick_of(owner, cart, line) as 4 * case
  when line = 0 then rank_of(owner, cart, 0)
  else rank_of(owner, cart, line) // 4 * 4 + (rank_of(owner, cart, 0) + line) % 4
  end + die(cart, line, 'variant', 4);
create macro lines_of(cart) as getvariable('line_counts')[1 + die(cart, 0, 'lines', 10)];
create macro quantity_of(cart, line) as getvariable('quantities')[1 + die(cart, line, 'quantity', 20)];

create macro cart_cents(owner, cart, lines) as list_sum(list_transform(range(lines), lambda line:
  getvariable('pick_cents')[1 + pick_of(owner, cart, line)] * quantity_of(cart, line)))::BIGINT;
create macro cart_items(cart, lines) as
  list_sum(list_transform(range(lines), lambda line: quantity_of(cart, line)))::INTEGER;

-- The lines of a cart as events tell them.
create macro event_items(owner, cart, lines) as list_transform(
  list_transform(range(lines), lambda line: {
    pick: pick_of(owner, cart, line), quantity: quantity_of(cart, line)}),
  lambda line: {
    product_id: getvariable('pick_product_id')[1 + line.pick],
    variant_id: getvariable('pick_variant_id')[1 + line.pick],
    product_title: getvariable('pick_title')[1 + line.pick],
    sku: getvariable('pick_sku')[1 + line.pick],
    price: money(getvariable('pick_cents')[1 + line.pick])::VARCHAR, quantity: line.quantity});

-- The lines of an order; the only line of a renewal is given.
create macro order_lines(number, owner, cart, lines, renews, renewal_cents) as list_transform(
  case when renews is not null then [{line: 0, pick: renews::INTEGER, quantity: 1, cents: renewal_cents}]
    else list_transform(range(lines), lambda line: {line: line::INTEGER, pick: pick_of(owner, cart, line),
      quantity: quantity_of(cart, line), cents: getvariable('pick_cents')[1 + pick_of(owner, cart, line)]}) end,
  lambda line: {
    id: order_id_of(number) || '-' || (line.line + 1),
    product_id: getvariable('pick_product_id')[1 + line.pick],
    variant_id: getvariable('pick_variant_id')[1 + line.pick], title: getvariable('pick_title')[1 + line.pick],
    sku: getvariable('pick_sku')[1 + line.pick], quantity: line.quantity, price: money(line.cents),
    total: money(line.cents * line.quantity)});

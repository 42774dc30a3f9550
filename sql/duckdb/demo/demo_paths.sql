-- makes: demo_path (ways through the store with the share of each audience), demo_step (path × lines of the
-- cart → its events in order), demo_way (path × lines → how many steps, and where the checkout begins) and
-- demo_ticket (audience × 0..99 → path). A step with a star happens once for each line of the cart.
create table demo_path as
select * from (values
  (1, 34, 20, 0, 'page'),
  (2, 18, 10, 0, 'product'),
  (3, 10, 8, 0, 'page collection'),
  (4, 12, 14, 0, 'page collection product'),
  (5, 6, 12, 0, 'page product product'),
  (6, 5, 9, 0, 'page search product product'),
  (7, 5, 9, 0, 'collection product product collection product page'),
  (8, 5, 6, 0, 'product* add* cart'),
  (9, 2, 4, 0, 'page collection product* add* cart remove'),
  (10, 3, 3, 0, 'product* add* cart start'),
  (11, 0, 3, 0, 'page product* add* cart start contact'),
  (12, 0, 2, 0, 'page search product* add* cart start contact address shipping'),
  (20, 0, 0, 35, 'page collection product* add* cart start contact address shipping pay done'),
  (21, 0, 0, 40, 'product* add* start contact shipping pay done'),
  (22, 0, 0, 25, 'page product* add* cart start done'),
  -- Left at the checkout, and back to it by the link of a message.
  (23, 0, 0, 0, 'product* add* cart start contact'),
  (24, 0, 0, 0, 'resume pay done'),
  (30, 0, 0, 0, 'page join')
) as t(path, visitors, browsers, buyers, steps);

create table demo_kind as
select kind::ENUM('page', 'collection', 'search', 'product', 'add', 'remove', 'cart', 'start', 'contact',
    'address', 'shipping', 'pay', 'done', 'resume', 'join') as kind,
  event_type::ENUM('page_viewed', 'collection_viewed', 'search_submitted', 'product_viewed',
    'product_added_to_cart', 'product_removed_from_cart', 'cart_viewed', 'checkout_started',
    'checkout_contact_info_submitted', 'checkout_address_info_submitted', 'checkout_shipping_info_submitted',
    'payment_info_submitted', 'checkout_completed', 'updateProperties') as event_type,
  kind in ('product', 'add', 'remove') as shows_product,
  kind in ('start', 'contact', 'address', 'shipping', 'pay', 'done', 'resume') as in_checkout
from (values
  ('page', 'page_viewed'),
  ('collection', 'collection_viewed'),
  ('search', 'search_submitted'),
  ('product', 'product_viewed'),
  ('add', 'product_added_to_cart'),
  ('remove', 'product_removed_from_cart'),
  ('cart', 'cart_viewed'),
  ('start', 'checkout_started'),
  ('contact', 'checkout_contact_info_submitted'),
  ('address', 'checkout_address_info_submitted'),
  ('shipping', 'checkout_shipping_info_submitted'),
  ('pay', 'payment_info_submitted'),
  ('done', 'checkout_completed'),
  ('resume', 'page_viewed'),
  ('join', 'updateProperties')) as t(kind, event_type);

create table demo_step as
with words as (
  select path, lines, place, string_split(steps, ' ')[place] as word
  from demo_path, range(1, 5) as l(lines), unnest(range(1, 1 + len(string_split(steps, ' ')))) as p(place)
),
expanded as (
  -- What is removed is the first line.
  select path, lines, place, rtrim(word, '*') as word,
    case when word like '%*' or word = 'remove' then line end as line
  from words, range(4) as t(line)
  where line = 0 or word like '%*' and line < lines
)
select path::UTINYINT as path, lines::TINYINT as lines, line::TINYINT as line, demo_kind.*,
  (row_number() over (partition by path, lines order by place, line) - 1)::TINYINT as seq
from expanded
join demo_kind on kind = word;

create table demo_way as
select path, lines, max(seq) as last_seq, max(seq) filter (kind = 'start') as start_seq,
  bool_or(kind = 'contact') as gives_contact, bool_or(kind = 'cart' or kind = 'start') as has_cart
from demo_step
group by path, lines;

create table demo_ticket as
with shares as (
  select path::UTINYINT as path, unnest(['visitors', 'browsers', 'buyers']) as audience,
    unnest([visitors, browsers, buyers]) as share
  from demo_path
),
ranges as (
  select *, sum(share) over (partition by audience order by path) as until
  from shares
)
select audience, ticket::INTEGER as ticket, path
from ranges, range(100) as t(ticket)
where ticket >= until - share and ticket < until;

-- Events that a session of each audience has on average.
create macro mean_steps(who) as (
  select avg(last_seq + 1)
  from demo_ticket, range(10) as t(i)
  join demo_way on demo_way.path = demo_ticket.path and demo_way.lines = getvariable('line_counts')[1 + i]
  where audience = who);

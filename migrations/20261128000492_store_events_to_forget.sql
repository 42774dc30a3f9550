-- migrate:up transaction:false

-- Those that are forgotten: among all that were noted, each hour read what was noted of every order. Built while stores go on
-- telling.
create index concurrently if not exists store_event_to_forget on store_event (created_at)
where split_part(id, ':', 1) in ('cart_updated', 'customer_updated', 'consent_updated', 'fulfillment_updated');

-- migrate:down

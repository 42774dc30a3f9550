-- All that is stored of a person, kind by kind: of profiles, and of contacts that only their emails or phones name. Amounts
-- are texts, as everywhere.
with contacts as (
    select id from erased_contacts($1, $2::integer[], $3::text[], $4::text[], now()) as id
),

talks as (
    select r.*
    from conversation as r
    where r.brand_id = $1 and (r.subject = any($2::integer[]) or r.contact_id = any(array(select id from contacts)))
),

orders as (
    select r.*
    from store_order as r
    where r.brand_id = $1 and r.subject = any($2::integer[])
),

runs as (
    select r.*
    from campaign_run as r
    where r.brand_id = $1 and (r.subject = any($2::integer[]) or r.contact_id = any(array(select id from contacts)))
),

rows as (
    select 'customers' as kind, to_jsonb(r) as row from customer as r where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'identifiers', to_jsonb(r) from identifier as r where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'claims', to_jsonb(r) from identifier_claim as r where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'claims', to_jsonb(r) from visitor_claim as r where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'merges', to_jsonb(r)
    from merge as r
    where r.brand_id = $1 and (r.from_subject = any($2::integer[]) or r.to_subject = any($2::integer[]))
    union all
    select 'contacts', to_jsonb(r) from contact as r where r.brand_id = $1 and r.id = any(array(select id from contacts))
    union all
    select 'consents', to_jsonb(r) from contact_consent as r where r.brand_id = $1 and r.contact_id = any(array(select id from contacts))
    union all
    select 'discount_codes', to_jsonb(r) from discount_code as r where r.brand_id = $1 and r.contact_id = any(array(select id from contacts))
    union all
    select 'orders', to_jsonb(r) || jsonb_build_object(
        'subtotal', r.subtotal::text, 'discount_total', r.discount_total::text, 'total', r.total::text,
        'refunded_total', r.refunded_total::text, 'imported_refunded_total', r.imported_refunded_total::text
    )
    from orders as r
    union all
    select 'refunds', to_jsonb(r) || jsonb_build_object('total', r.total::text)
    from refund as r
    where
        r.brand_id = $1
        and (
            r.subject = any($2::integer[])
            or r.order_external_id = any(array(select external_id from orders))
        )
    union all
    select 'fulfillments', to_jsonb(r)
    from fulfillment as r
    where
        r.brand_id = $1
        and r.order_external_id = any(array(select external_id from orders))
    union all
    select 'checkouts', to_jsonb(r) || jsonb_build_object('total', r.total::text)
    from checkout as r
    where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'subscriptions', to_jsonb(r) || jsonb_build_object('price', r.price::text)
    from subscription as r
    where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'campaign_runs', to_jsonb(r) - array['claim', 'claimed_until'] from runs as r
    union all
    select 'campaign_steps', to_jsonb(r) from runs join run_step as r on r.brand_id = runs.brand_id and r.run_id = runs.id
    union all
    select 'deliveries', to_jsonb(r) from custom_delivery as r where r.brand_id = $1 and r.contact_id = any(array(select id from contacts))
    union all
    select 'carts', to_jsonb(r) from store_cart as r where r.brand_id = $1 and r.subject = any($2::integer[])
    union all
    select 'data_requests', to_jsonb(r)
    from data_request as r
    where r.brand_id = $1 and (r.email = any($3::text[]) or r.phone = any($4::text[]) or r.store_customer_id = any($5::text[]))
    union all
    select 'conversations', to_jsonb(r) from talks as r
    union all
    select 'messages', to_jsonb(r)
    from talks
    join message as r on r.brand_id = talks.brand_id and r.conversation_id = talks.id
    union all
    select 'links', to_jsonb(r)
    from talks
    join short_link as r on r.brand_id = talks.brand_id and r.conversation_id = talks.id
    union all
    select 'link_clicks', to_jsonb(r)
    from talks
    join link_click as r on r.brand_id = talks.brand_id and r.conversation_id = talks.id
    union all
    select 'message_topics', to_jsonb(r) || jsonb_build_object('topic', said.topic)
    from talks
    join insight_message as r on r.brand_id = talks.brand_id and r.conversation_id = talks.id
    join conversation_insight as said on said.brand_id = r.brand_id and said.id = r.insight_id
    union all
    select 'attributions', to_jsonb(r) || jsonb_build_object('amount', r.amount::text)
    from attribution as r
    where
        r.brand_id = $1
        and (
            r.conversation_id = any(array(select id from talks))
            or r.order_id = any(array(select id from orders))
        )
)

select kind, (row - 'brand_id' - 'xid')::text as row
from rows
union all
-- Not by way of jsonb, which cannot hold all that senders say.
select 'custom_events', to_json(said)::text
from (
    select id, provider_id, definition_id, external_id, event_id, data, deliveries, created_at, updated_at
    from custom_event
    where brand_id = $1 and contact_id = any(array(select contacts.id from contacts))
) as said

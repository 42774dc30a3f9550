-- One run for each campaign and occurrence; the same one starts nothing again, also of who was erased. That one is asked for
-- as a value, so that it is looked up by the key. A checkout was left when it was last changed, before it counted as abandoned.
insert into campaign_run (
    brand_id, id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at,
    orders_since, facts, step, due_at, created_at, updated_at
)
select
    $1, id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at,
    case
        when source_kind = 'checkout'
        then (
            select least(given.triggered_at, checkout.updated_at) from checkout
            where checkout.brand_id = $1 and checkout.external_id = given.source_id
        )
    end,
    facts::jsonb, 'start', $2, $2, $2
from unnest(
    $3::uuid[], $4::uuid[], $5::integer[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::text[],
    $12::timestamptz[], $13::text[]
) as given (
    id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at, facts
)
where (
        select erased.id
        from campaign_run as erased
        where
            erased.brand_id = $1
            and erased.campaign_id = given.campaign_id
            and erased.occurrence = erased_id($1, given.occurrence)
    ) is null
on conflict (brand_id, campaign_id, occurrence) do nothing

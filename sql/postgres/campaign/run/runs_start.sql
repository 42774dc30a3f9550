-- One run for each campaign and occurrence; the same one starts nothing again.
insert into campaign_run (
    brand_id, id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at,
    facts, step, due_at, created_at, updated_at
)
select
    $1, id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at,
    facts::jsonb, 'start', $2, $2, $2
from unnest(
    $3::uuid[], $4::uuid[], $5::integer[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::text[],
    $12::timestamptz[], $13::text[]
) as given (
    id, campaign_id, version, occurrence, subject, trigger_event, event_id, source_kind, source_id, triggered_at, facts
)
on conflict (brand_id, campaign_id, occurrence) do nothing

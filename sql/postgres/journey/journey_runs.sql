-- Journeys that began with a record. $2: its kind, $3: its id.
select
    run.id, run.campaign_id, campaign.name as campaign_name, run.trigger_event, run.event_id, run.contact_id,
    coalesce(run.outcome, 'in_progress') as outcome
from campaign_run as run
join campaign on campaign.brand_id = run.brand_id and campaign.id = run.campaign_id
where run.brand_id = $1 and run.source_kind = $2 and run.source_id = $3
order by run.created_at, run.id

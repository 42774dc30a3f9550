-- How runs that began since $2 stand, by the branch of their split, and the reason of their last step that has one; of one campaign where $3 names it.
select
    run.campaign_id,
    campaign.name as campaign_name,
    run.branch,
    coalesce(run.outcome, 'in_progress') as outcome,
    last.reason,
    count(*)::integer as runs
from campaign_run as run
join campaign on campaign.brand_id = run.brand_id and campaign.id = run.campaign_id
left join lateral (
    select step.reason
    from run_step as step
    where step.brand_id = run.brand_id and step.run_id = run.id and step.reason is not null
    order by step.ordinal desc
    limit 1
) as last on true
where run.brand_id = $1
    and run.created_at >= $2
    and ($3::uuid is null or run.campaign_id = $3)
group by run.campaign_id, campaign.name, run.branch, run.outcome, last.reason
order by campaign.name, run.campaign_id, run.branch nulls first, runs desc, outcome, last.reason

-- migrate:up

alter table segment
    -- Built-in segments are evaluated less often than every refresh: null for all others.
    add column every_minutes integer,
    -- Tick of the sources that the last evaluation read.
    add column evaluated_tick bigint;

-- Gives a brand the segments that every brand has, with the ordinals after its own.
create procedure built_in_segments(brand uuid)
language sql
as $$
    with built_in (position, name, description, every_minutes, definition) as (
        values
            (
                1, 'Visitors', 'Everyone with a profile, known by name or not', 60,
                '{"source": "customer_profile", "rule": {"field": "built_in", "op": "=", "value": "visitors"}}'
            ),
            (
                2, 'Customers', 'Placed an order', 60,
                '{"source": "customer_profile", "rule": {"field": "orders_count", "op": ">=", "value": 1}}'
            ),
            (
                3, 'Repeat Customers', 'Placed more than one order', 60,
                '{"source": "customer_profile", "rule": {"field": "orders_count", "op": ">=", "value": 2}}'
            ),
            (
                4, 'Active Subscribers', 'Have an active subscription', 60,
                '{"source": "subscription_contracts", "rule": {"field": "status", "op": "=", "value": "active"}}'
            ),
            (
                5, 'High Value', 'RFM tiers Champions and Loyal Customers', 240,
                '{"source": "customer_profile", "rule": {"field": "built_in", "op": "=", "value": "high_value"}}'
            ),
            (
                6, 'At Risk', 'Have not ordered for twice as long as usual', 240,
                '{"source": "customer_profile", "rule": {"field": "built_in", "op": "=", "value": "at_risk"}}'
            ),
            (
                7, 'Churned', 'Have not ordered for four times as long as usual', 240,
                '{"source": "customer_profile", "rule": {"field": "built_in", "op": "=", "value": "churned"}}'
            )
    ),

    made as (
        insert into segment (
            brand_id, id, ordinal, name, description, current_version_id, created_by, every_minutes
        )
        select
            brand,
            gen_random_uuid(),
            position + (select coalesce(max(ordinal), 0) from segment where brand_id = brand),
            name,
            description,
            gen_random_uuid(),
            'built_in',
            every_minutes
        from built_in
        returning segment.id, segment.name, segment.current_version_id
    )

    insert into segment_version (brand_id, segment_id, version, id, definition, created_by)
    select brand, made.id, 1, current_version_id, definition::json, 'built_in'
    from made
    join built_in using (name)
$$;
grant execute on procedure built_in_segments to recoup_pipeline;

-- The names are taken from now on: a segment that has one already is told apart by its id.
update segment
set name = name || ' (' || left(id::text, 8) || ')'
where
    status = 'active'
    and lower(btrim(name)) in (
        'visitors', 'customers', 'repeat customers', 'active subscribers', 'high value', 'at risk', 'churned'
    );

do $$
declare
    brand_id uuid;
begin
    for brand_id in select id from brand loop
        call built_in_segments(brand_id);
    end loop;
end
$$;
update lake_brand set definitions_version = definitions_version + 1;

-- migrate:down

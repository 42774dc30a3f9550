-- migrate:up

-- What erased contacts refused, by keyed hashes of the channel and the address: whoever comes with it is not messaged.
create table kept_refusal (
    brand_id uuid not null,
    hash bytea not null,
    refused_at timestamptz not null,
    primary key (brand_id, hash)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);
call wall('kept_refusal');

-- As before, and what was refused at the address by who was erased since.
create or replace function refused_by_others(brand uuid, contact_id uuid, channel text, address text) returns timestamptz
language sql stable
return (
    select max(refusal.at)
    from (
        select word.at
        from contact_consent as word
        where
            word.brand_id = (select $1)
            and word.address = $4
            and word.address <> ''
            and word.state = 'unsubscribed'
            and word.channel = $3
            and word.contact_id <> $2
        union all
        select kept.refused_at
        from kept_refusal as kept
        where kept.brand_id = (select $1) and kept.hash = tombstone_hash($1, 'refused_' || $3, $4)
    ) as refusal
    having
        max(refusal.at) >= coalesce(
            (
                select max(agreed.at)
                from contact_consent as agreed
                where
                    agreed.brand_id = (select $1)
                    and agreed.address = $4
                    and agreed.address <> ''
                    and agreed.state = 'subscribed'
                    and agreed.channel = $3
                    and agreed.contact_id <> $2
            ),
            '-infinity'
        )
);

-- migrate:down

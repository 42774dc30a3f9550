-- migrate:up

alter table lake_brand
    -- When time alone changes an answer next; null when that is not known, infinity for never.
    add column next_change_at timestamptz,
    -- What a full refresh found to differ from the incremental ones before it, which no refresh should.
    add column difference jsonb;

-- migrate:down

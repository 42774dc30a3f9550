-- migrate:up

-- What contacts write about, found anew every night in the messages of the last 90 days.
create table conversation_insight (
    brand_id uuid not null,
    -- Made of the first keyword: a topic that is found again keeps it.
    id uuid not null,
    topic text not null,
    -- Words that several contacts used.
    keywords text[] not null,
    -- What it was named by: its name is asked for again when they change.
    named_by text[],
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (brand_id, id)
);
call wall('conversation_insight');

create table insight_message (
    brand_id uuid not null,
    insight_id uuid not null,
    message_id uuid not null,
    conversation_id uuid not null,
    at timestamptz not null,
    -- Of the brand's time zone.
    day date not null,
    primary key (brand_id, message_id),
    foreign key (brand_id, insight_id) references conversation_insight (brand_id, id) on delete cascade
);
create index insight_message_of on insight_message (brand_id, insight_id, day, conversation_id);
call wall('insight_message');

create table insight_state (
    brand_id uuid primary key references brand,
    computed_at timestamptz not null
);
call wall('insight_state');

create index message_inbound on message (brand_id, created_at) where direction = 'inbound';

-- migrate:down

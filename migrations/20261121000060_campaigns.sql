-- migrate:up

-- A recovery campaign: what starts it, and which version of its definition new runs take.
create table campaign (
    brand_id uuid not null references brand,
    id uuid not null,
    name text not null,
    type text not null check (
        type in (
            'checkout_recovery', 'browse_recovery', 'post_purchase', 'winback', 'subscription', 'segment', 'custom_event'
        )
    ),
    status text not null default 'draft' check (status in ('draft', 'active', 'paused', 'archived')),
    version integer not null default 1,
    -- Of the current version, where events look for what they start.
    trigger_event text not null,
    provider_id uuid,
    created_by text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    -- What happened before it was turned on starts nothing.
    activated_at timestamptz,
    primary key (brand_id, id),
    foreign key (brand_id, provider_id) references provider (brand_id, id)
);
create index campaign_trigger on campaign (brand_id, trigger_event) where status = 'active';
call wall('campaign');

-- Never changed: who was started on a version stays on it.
create table campaign_version (
    brand_id uuid not null,
    campaign_id uuid not null,
    version integer not null,
    schema_version smallint not null default 1,
    -- See src/campaign/definition.ts.
    definition json not null,
    created_by text not null,
    created_at timestamptz not null default now(),
    primary key (brand_id, campaign_id, version),
    foreign key (brand_id, campaign_id) references campaign (brand_id, id)
);
call wall('campaign_version');

create function keep_version() returns trigger
language plpgsql
as $$
begin
    raise exception 'a version of a campaign is never changed' using errcode = '23514';
end
$$;
create trigger keep_version before update of campaign_id, version, definition on campaign_version
for each row when (
    old.campaign_id <> new.campaign_id or old.version <> new.version or old.definition::text <> new.definition::text
) execute function keep_version();

-- One journey through a campaign: one per campaign and occurrence of its trigger (which names the contact where one
-- occurrence concerns several).
create table campaign_run (
    brand_id uuid not null,
    id uuid not null,
    campaign_id uuid not null,
    version integer not null,
    -- Such as checkout_abandoned:<checkout>: the same one starts nothing again.
    occurrence text not null,
    -- Null when nobody was found, or the contact is erased.
    contact_id uuid,
    -- Ordinal of the customer, as the trigger named it.
    subject integer,
    trigger_event text not null,
    -- Of the lake's event, where there is one.
    event_id text,
    -- What the trigger tells of, for the event journey.
    source_kind text not null check (
        source_kind in ('checkout', 'order', 'custom_event', 'subscription_event', 'segment', 'customer')
    ),
    source_id text not null,
    triggered_at timestamptz not null,
    -- What the trigger carried, for filters and variables of messages.
    facts jsonb not null default '{}',
    branch text,
    state text not null default 'waiting' check (state in ('waiting', 'ended')),
    -- What is done when it is due.
    step text not null check (
        step in ('start', 'delay', 'check', 'split', 'message', 'wait', 'reply', 'end')
    ),
    due_at timestamptz,
    -- Who works on it, until when: a lease that ends frees it.
    claim uuid,
    claimed_until timestamptz,
    attempts integer not null default 0,
    outcome text check (outcome in ('completed', 'converted', 'replied', 'stopped', 'not_started', 'failed')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    ended_at timestamptz,
    primary key (brand_id, id),
    unique (brand_id, campaign_id, occurrence),
    foreign key (brand_id, campaign_id, version) references campaign_version (brand_id, campaign_id, version),
    foreign key (brand_id, contact_id) references contact (brand_id, id) on delete set null (contact_id),
    check ((state = 'ended') = (outcome is not null)),
    check (state = 'ended' or due_at is not null)
) with (fillfactor = 80);
-- All that a poll looks at: its first entry says whether anything is due, however many wait.
create index campaign_run_due on campaign_run (due_at) where state = 'waiting';
create index campaign_run_contact on campaign_run (brand_id, contact_id) where contact_id is not null;
create index campaign_run_subject on campaign_run (brand_id, subject) where subject is not null;
create index campaign_run_source on campaign_run (brand_id, source_kind, source_id);
call wall('campaign_run');

-- What became of a run, step by step; each is written with its effect and never changed.
create table run_step (
    brand_id uuid not null,
    run_id uuid not null,
    ordinal integer not null,
    id uuid not null,
    at timestamptz not null,
    step text not null,
    state text not null check (state in ('done', 'waiting', 'skipped', 'stopped', 'failed')),
    event_type text,
    event_id text,
    conversation_id uuid,
    message_id uuid,
    -- A code of src/campaign/reason.ts.
    reason text,
    error text,
    primary key (brand_id, run_id, ordinal),
    foreign key (brand_id, run_id) references campaign_run (brand_id, id) on delete cascade
);
call wall('run_step');

-- What is said between a brand and a contact, begun by a run or by the contact.
create table conversation (
    brand_id uuid not null,
    id uuid not null,
    -- Null when the contact is erased.
    contact_id uuid,
    subject integer,
    campaign_id uuid,
    run_id uuid,
    channel text not null check (channel in ('sms', 'email')),
    status text not null default 'open' check (status in ('open', 'closed')),
    checkout_id uuid,
    -- Until when an order counts as recovered by it; null: it has no goal.
    goal_until timestamptz,
    opted_out_at timestamptz,
    -- Spent of the budget of the agent.
    agent_drafts integer not null default 0,
    agent_tokens integer not null default 0,
    last_message_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, id),
    foreign key (brand_id, contact_id) references contact (brand_id, id) on delete set null (contact_id),
    foreign key (brand_id, campaign_id) references campaign (brand_id, id),
    foreign key (brand_id, run_id) references campaign_run (brand_id, id)
);
create unique index conversation_run on conversation (brand_id, run_id) where run_id is not null;
create index conversation_newest on conversation (brand_id, created_at desc, id desc);
create index conversation_contact on conversation (brand_id, contact_id, created_at);
create index conversation_subject on conversation (brand_id, subject) where subject is not null;
create index conversation_xid on conversation (xid);
call wall('conversation');

-- Messages both ways. Those that are queued are the outbox.
create table message (
    brand_id uuid not null,
    id uuid not null,
    conversation_id uuid not null,
    contact_id uuid,
    -- Of the step that wrote it, or of the gateway's message that came in: the same one is written and sent once.
    idempotency_key text not null,
    direction text not null check (direction in ('outbound', 'inbound')),
    author text not null check (author in ('campaign', 'agent', 'contact', 'system')),
    channel text not null check (channel in ('sms', 'email')),
    -- Of an email.
    headline text,
    body text not null,
    status text not null default 'queued' check (status in ('queued', 'sent', 'delivered', 'failed', 'received')),
    provider_message_id text,
    attempts integer not null default 0,
    -- When it is tried next; null: never again.
    next_attempt_at timestamptz,
    claim uuid,
    claimed_until timestamptz,
    -- A code of src/campaign/reason.ts, and what the channel said.
    reason text,
    error text,
    created_at timestamptz not null default now(),
    sent_at timestamptz,
    delivered_at timestamptz,
    failed_at timestamptz,
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, id),
    unique (brand_id, idempotency_key),
    foreign key (brand_id, conversation_id) references conversation (brand_id, id),
    foreign key (brand_id, contact_id) references contact (brand_id, id) on delete set null (contact_id)
) with (fillfactor = 80);
create index message_due on message (next_attempt_at) where status = 'queued' and next_attempt_at is not null;
create index message_conversation on message (brand_id, conversation_id, created_at, id);
create index message_contact on message (brand_id, contact_id, created_at) where direction = 'outbound';
create index message_provider_id on message (brand_id, provider_message_id) where provider_message_id is not null;
create index message_xid on message (xid);
call wall('message');

-- What a shortened link stands for. The code alone says whose it is, and cannot be guessed.
create table short_link (
    brand_id uuid not null,
    id uuid not null,
    code text not null unique,
    message_id uuid not null,
    conversation_id uuid not null,
    campaign_id uuid,
    kind text not null check (kind in ('cart', 'checkout', 'url', 'opt_out')),
    -- Where it leads; null: nowhere any more, or to the page that the kind has.
    url text,
    created_at timestamptz not null default now(),
    primary key (brand_id, id),
    foreign key (brand_id, conversation_id) references conversation (brand_id, id)
);
create index short_link_message on short_link (brand_id, message_id);
create index short_link_conversation on short_link (brand_id, conversation_id);
call wall('short_link');

create table link_click (
    brand_id uuid not null,
    id uuid not null,
    link_id uuid not null,
    message_id uuid not null,
    conversation_id uuid not null,
    at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, id),
    foreign key (brand_id, link_id) references short_link (brand_id, id)
);
create index link_click_conversation on link_click (brand_id, conversation_id, at);
create index link_click_xid on link_click (xid);
call wall('link_click');

-- Which conversation an order is recovered by: at most one. What is refunded, cancelled or found to be another's later
-- stays with recovered = false.
create table attribution (
    brand_id uuid not null,
    order_id uuid not null,
    conversation_id uuid not null,
    campaign_id uuid,
    recovered boolean not null default true,
    -- What the order followed, and when that was.
    touch text not null check (touch in ('message', 'click')),
    touch_at timestamptz not null,
    ordered_at timestamptz not null,
    amount numeric(18, 2) not null,
    currency_code text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, order_id),
    foreign key (brand_id, conversation_id) references conversation (brand_id, id)
);
create index attribution_conversation on attribution (brand_id, conversation_id);
create index attribution_xid on attribution (xid);
call wall('attribution');

do $$
declare
    relation text;
begin
    foreach relation in array array['conversation', 'message', 'link_click', 'attribution'] loop
        execute format('create trigger set_xid before insert or update on %I for each row execute function set_xid()', relation);
    end loop;
end
$$;

-- Rules of a brand for all of its messages; without a row the defaults of the columns hold.
create table message_policy (
    brand_id uuid primary key references brand,
    -- No campaign messages between these, in the contact's time zone; the same time twice: there are no quiet hours.
    quiet_from time not null default '21:00',
    quiet_until time not null default '08:00',
    -- At most so many campaign messages to a contact within so many days.
    cap_messages integer not null default 4 check (cap_messages between 1 and 1000),
    cap_days integer not null default 7 check (cap_days between 1 and 90),
    attribution_days integer not null default 7 check (attribution_days between 1 and 90),
    updated_at timestamptz not null default now()
);
call wall('message_policy');

-- How a brand's messages leave; a channel without a row keeps them in the embedded outbox.
create table message_channel (
    brand_id uuid not null references brand,
    channel text not null check (channel in ('sms', 'email')),
    adapter text not null default 'outbox' check (adapter in ('outbox', 'smtp', 'http_sms')),
    settings json not null default '{}',
    -- Sealed (src/access/seal.ts).
    secret bytea,
    -- The last part of the address at which a gateway tells of deliveries and of messages that came in.
    lookup_id text not null unique,
    messages_per_second integer not null default 10 check (messages_per_second between 1 and 1000),
    updated_at timestamptz not null default now(),
    primary key (brand_id, channel)
);
call wall('message_channel');

-- Where the contact is; null: the brand's time zone counts.
alter table contact add column timezone text;

-- Contacts that an erasure takes (see erase_contacts), for the rows that name them.
create function erased_contacts(brand uuid, subjects integer[], emails text[], phones text[], until timestamptz)
returns setof uuid
language sql stable
begin atomic
    select id
    from contact
    where brand_id = brand
        and (
            subject = any(subjects)
            or (subject is null and created_at <= until and (email = any(emails) or (email is null and phone = any(phones))))
        );
end;

-- migrate:down

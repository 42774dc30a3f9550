-- migrate:up

-- Whom the brand may message: at most one contact per email address and per phone number, both normalised.
create table contact (
    brand_id uuid not null,
    id uuid not null,
    -- The customer that the evidence named; a merged one has a redirect.
    subject integer,
    email text,
    phone text,
    first_name text,
    last_name text,
    sms_consent text not null default 'unknown' check (sms_consent in ('subscribed', 'unsubscribed', 'unknown')),
    email_consent text not null default 'unknown' check (email_consent in ('subscribed', 'unsubscribed', 'unknown')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (brand_id, id),
    unique (brand_id, email),
    unique (brand_id, phone)
);
create index contact_subject on contact (brand_id, subject);
call wall('contact');

-- Every word on consent, from wherever it came. The contact shows the newest one of each channel.
create table contact_consent (
    brand_id uuid not null,
    contact_id uuid not null,
    channel text not null check (channel in ('sms', 'email')),
    state text not null check (state in ('subscribed', 'unsubscribed', 'unknown')),
    source text not null,
    at timestamptz not null,
    recorded_at timestamptz not null default now(),
    primary key (brand_id, contact_id, channel, at, state),
    foreign key (brand_id, contact_id) references contact on delete cascade
);
call wall('contact_consent');

-- migrate:down

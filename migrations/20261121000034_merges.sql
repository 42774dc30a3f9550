-- migrate:up

-- Every merge, and what became of it: `from_subject` answers as whoever `to_subject` answers as. Both are profiles as
-- they were sent, the ones that the evidence tells of, so that the merges in force are a forest: without one of them
-- its tree falls into the two parts that nothing else joins. Redirects follow from it.
create table merge (
    brand_id uuid not null,
    id uuid not null,
    merged_at timestamptz not null default now(),
    from_subject integer not null,
    to_subject integer not null check (to_subject <> from_subject),
    -- { kind, source }: the kind of identifier that both have, and who said so: browser, server, import, store or
    -- webhook. The value itself is found with identifier and claim of these two, and goes with them.
    evidence jsonb not null,
    undone_at timestamptz,
    undone_by text,
    -- Undone by a person: these two are never joined again.
    barred boolean not null default false,
    deleted boolean not null default false,
    xid xid8 not null default pg_current_xact_id(),
    primary key (brand_id, id)
);
create index merge_from on merge (brand_id, from_subject) where undone_at is null;
create index merge_to on merge (brand_id, to_subject) where undone_at is null;
create index merge_barred on merge (brand_id) where barred;
create index merge_xid on merge (xid);
call wall('merge');
create trigger set_xid before insert or update on merge for each row execute function set_xid();

-- Customers that a server, a store or a webhook named with an identifier that another customer holds: what merges follow
-- from. At most ten of an identifier: with the tenth it is shared by too many to say who somebody is.
create table identifier_claim (
    brand_id uuid not null,
    kind text not null check (kind in ('profile_id', 'email', 'phone')),
    value text not null,
    subject integer not null,
    source text not null,
    claimed_at timestamptz not null default clock_timestamp(),
    primary key (brand_id, kind, value, subject)
);
create index identifier_claim_subject on identifier_claim (brand_id, subject);
call wall('identifier_claim');

-- Identifiers that browsers gave for visitors and that nobody holds yet. They make no identifier: the visitor joins the
-- customer whom another source names with it.
create table visitor_claim (
    brand_id uuid not null,
    kind text not null check (kind in ('store_customer_id', 'profile_id', 'email', 'phone')),
    value text not null,
    subject integer not null,
    claimed_at timestamptz not null default clock_timestamp(),
    primary key (brand_id, kind, value, subject)
);
create index visitor_claim_subject on visitor_claim (brand_id, subject);
call wall('visitor_claim');

-- The sender's own id of the person, where one was given.
alter table customer add column profile_id text;
update customer set profile_id = identifier.value
from identifier
where
    identifier.brand_id = customer.brand_id
    and identifier.subject = customer.subject
    and identifier.kind = 'profile_id';

-- A visitor's redirect that rests on a browser's word: a better source may change it.
alter table subject_redirect add column by_browser boolean not null default false;

-- Rows say what sources said; that a customer was merged follows from the redirects.
update customer set provenance = 'server' where provenance = 'merged';
insert into merge (brand_id, id, from_subject, to_subject, evidence)
select brand_id, gen_random_uuid(), subject, customer, '{"kind": "unknown", "source": "unknown"}'
from subject_redirect
where not deleted;

-- migrate:down

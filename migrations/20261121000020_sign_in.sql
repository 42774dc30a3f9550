-- migrate:up

-- Values are sealed with SECRET_KEY; those from before it are sealed when they are next read.
alter table secret add column sealed boolean not null default false;
grant update on secret to recoup_pipeline;

create table app_user (
    id uuid primary key,
    -- Lower case.
    email text not null unique check (length(email) between 3 and 254),
    password_hash text not null,
    is_staff boolean not null default false,
    disabled_at timestamptz,
    created_at timestamptz not null default now()
);

create table membership (
    brand_id uuid not null references brand,
    user_id uuid not null references app_user on delete cascade,
    role text not null check (role in ('admin', 'member')),
    created_at timestamptz not null default now(),
    primary key (brand_id, user_id)
);
create index membership_user on membership (user_id);

-- A browser that is signed in to the web app, by the hash of what its cookie says.
create table web_session (
    id text primary key,
    user_id uuid not null references app_user on delete cascade,
    brand_id uuid not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    foreign key (brand_id, user_id) references membership on delete cascade
);
create index web_session_user on web_session (user_id);
create index web_session_expiry on web_session (expires_at);

-- What a user let a client do for a brand. Every access token names one and is good for as long as it is there.
create table sign_in_grant (
    id text primary key,
    user_id uuid not null references app_user on delete cascade,
    brand_id uuid not null,
    client_id text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    foreign key (brand_id, user_id) references membership on delete cascade
);
create index sign_in_grant_user on sign_in_grant (user_id);
create index sign_in_grant_client on sign_in_grant (client_id);

-- Behind the wall, and closed to the API for now: nothing of it is served.
call wall('membership');
call wall('web_session');
call wall('sign_in_grant');
revoke all on membership, web_session, sign_in_grant from recoup_app;

-- Everything else that the authorization server remembers: clients, codes, refresh tokens, grants, pages under way.
-- Ids are hashed, since most of them are credentials, and contents sealed.
create table oidc_record (
    model text not null,
    id bytea not null,
    content bytea not null,
    grant_id text,
    uid text,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    consumed_at timestamptz,
    primary key (model, id)
);
create index oidc_record_grant on oidc_record (grant_id) where grant_id is not null;
create index oidc_record_uid on oidc_record (model, uid) where uid is not null;
create index oidc_record_expiry on oidc_record (expires_at);

-- Failed sign-ins by a hash of the account or address.
create table sign_in_attempt (
    key bytea primary key,
    failures integer not null,
    failed_at timestamptz not null,
    blocked_until timestamptz not null
);

-- A quarter of an hour without any forgives one.
create function failures_left(failures integer, failed_at timestamptz) returns integer
language sql stable
return greatest(0, failures - floor(extract(epoch from now() - failed_at) / 900))::integer;

create function announce_member() returns trigger
language plpgsql
as $$
begin
    perform pg_notify('recoup_access', 'user ' || old.user_id);
    return null;
end
$$;

create trigger announce_change after update of password_hash, is_staff, disabled_at on app_user
for each row execute function announce('user');
create trigger announce_change after update or delete on membership
for each row execute function announce_member();
create trigger announce_change after update or delete on web_session
for each row execute function announce('session');
create trigger announce_change after update or delete on sign_in_grant
for each row execute function announce('grant');

-- migrate:down

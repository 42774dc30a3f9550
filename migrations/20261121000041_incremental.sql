-- migrate:up

-- A generation is read from one base and, when it was made incrementally, the rows that replace some of the base's.
-- Kept as long as the files are: a cursor goes on in the generation that it began in.
create table served_generation (
    brand_id uuid not null,
    generation bigint not null,
    base_path text not null,
    changes_path text,
    published_at timestamptz not null default now(),
    replaced_at timestamptz,
    primary key (brand_id, generation)
);
call wall('served_generation');
insert into served_generation (brand_id, generation, base_path)
select brand_id, generation, served_path from lake_brand where served_path is not null;

alter table lake_brand
    drop column served_path,
    -- The last refresh that computed all customers.
    add column full_at timestamptz,
    -- Customers whose rows changed since the base.
    add column changed_customers bigint not null default 0;

-- migrate:down

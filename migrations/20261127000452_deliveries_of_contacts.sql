-- migrate:up

create index custom_delivery_contact on custom_delivery (brand_id, contact_id) where contact_id is not null;

alter table custom_delivery
add constraint custom_delivery_contact_fkey
foreign key (brand_id, contact_id) references contact (brand_id, id) on delete set null (contact_id) not valid;

-- Whom an erasure took meanwhile.
update custom_delivery set contact_id = null
where
    contact_id is not null
    and not exists (
        select from contact where contact.brand_id = custom_delivery.brand_id and contact.id = custom_delivery.contact_id
    );

-- migrate:down

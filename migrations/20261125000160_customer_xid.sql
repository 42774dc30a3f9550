-- migrate:up

-- Whether a record came (has_record) is nobody's business but that of the next one: the lake is not told of it.
drop trigger set_xid on customer;
create trigger set_xid before insert or update of
    brand_id, subject, id, store_customer_id, profile_id, email, phone, first_name, last_name, tags, provenance, created_at,
    updated_at, deleted, erased_at, email_by_record, phone_by_record
on customer for each row execute function set_xid();

-- migrate:down

-- migrate:up

-- What began before an erasure and ends after it must not write to the row that the customer left.
create function keep_as_it_is() returns trigger
language plpgsql
as $$
begin
    return null;
end
$$;

create trigger keep_tombstone before update on customer
for each row when (old.erased_at is not null) execute function keep_as_it_is();

-- migrate:down

insert into secret (name, value, sealed) values ($1, $2, $3) on conflict (name) do nothing

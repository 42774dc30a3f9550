insert into secret (name, value, sealed) values ($1, $2, true) on conflict (name) do nothing

insert into message_channel (brand_id, channel, adapter, settings, secret, lookup_id, messages_per_second)
values ($1, $2, $3, $4::text::json, $5, $6, $7)
on conflict (brand_id, channel) do update
set
    adapter = excluded.adapter,
    settings = excluded.settings,
    secret = excluded.secret,
    messages_per_second = excluded.messages_per_second,
    updated_at = now()

-- What has ended, and clients that nobody uses: for a month, or ever since they registered, which anybody may, from
-- a Friday to a Monday. Used refresh tokens stay until they end: their second use reveals a theft.
delete from oidc_record
where
    expires_at < now()
    or (
        model = 'Client'
        and coalesce(used_at + interval '30 days', created_at + interval '3 days') < now()
        and not exists (
            select from sign_in_grant where sha256(convert_to(sign_in_grant.client_id, 'UTF8')) = oidc_record.id
        )
    )

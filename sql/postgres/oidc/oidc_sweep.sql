-- What has ended, and clients that registered a month ago and that nobody uses. Used refresh tokens stay until they
-- end: their second use reveals a theft.
delete from oidc_record
where
    expires_at < now()
    or (
        model = 'Client'
        and created_at < now() - interval '30 days'
        and not exists (
            select from sign_in_grant where sha256(convert_to(sign_in_grant.client_id, 'UTF8')) = oidc_record.id
        )
    )

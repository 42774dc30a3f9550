-- case: clicks up to as_of
-- params as_of='2025-06-01'
-- given link_clicks: click_id, message_id, clicked_at
values ('k1', 'm1', '2025-05-31'), ('k2', 'm1', '2025-06-02')
-- expect stg_link_clicks: click_id, message_id
values ('k1', 'm1')

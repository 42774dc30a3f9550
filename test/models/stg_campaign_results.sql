-- case: a conversation in which something was said counts once, whatever came of it, at the moment when it was begun
-- given conversations: conversation_id, campaign_id, opted_out_at, created_at
values
    ('c1', 'a', '2025-05-03', '2025-05-01'),
    ('c2', null, null, '2025-05-02'),
    ('c3', 'a', null, '2025-05-02'),
    ('c4', 'a', null, '2025-05-02')
-- given messages: message_id, conversation_id, direction, created_at, sent_at
values
    ('m1', 'c1', 'inbound', '2025-05-02', null),
    ('m2', 'c1', 'inbound', '2025-05-03', null),
    ('m3', 'c2', 'outbound', '2025-05-02', '2025-05-03'),
    ('m4', 'c3', 'outbound', '2025-05-02', null)
-- given attributions: order_id, conversation_id, campaign_id, recovered, ordered_at, amount, currency_code
values
    ('o1', 'c1', 'a', true, '2025-05-04', 10, 'USD'),
    ('o2', 'c1', 'a', true, '2025-05-05', 5, 'USD'),
    ('o3', 'c2', null, false, '2025-05-04', 0, 'USD')
-- expect stg_campaign_results: kind, id, campaign_id, happened_at, conversations, replied, opted_out, recovered, orders, sales
values
    ('conversation', 'c1', 'a', timestamp '2025-05-01', 1, 1, 1, 1, 0, 0.00),
    ('conversation', 'c2', null, timestamp '2025-05-02', 1, 0, 0, 0, 0, 0.00),
    ('message', 'm3', null, timestamp '2025-05-03', 0, 0, 0, 0, 0, 0.00),
    ('order', 'o1', 'a', timestamp '2025-05-04', 0, 0, 0, 0, 1, 10.00),
    ('order', 'o2', 'a', timestamp '2025-05-05', 0, 0, 0, 0, 1, 5.00)

-- case: a message counts when it was sent, and as clicked once; one that was not sent and one that came in count nowhere
-- given messages: message_id, conversation_id, campaign_id, direction, created_at, sent_at, delivered_at
values
    ('m1', 'c1', 'a', 'outbound', '2025-05-01', '2025-05-02', '2025-05-03'),
    ('m2', 'c1', 'a', 'outbound', '2025-05-01', '2025-05-02', null),
    ('m3', 'c1', 'a', 'outbound', '2025-05-01', null, null),
    ('m4', 'c1', 'a', 'inbound', '2025-05-01', null, null)
-- given link_clicks: click_id, message_id, clicked_at
values ('k1', 'm1', '2025-05-04'), ('k2', 'm1', '2025-05-04')
-- expect stg_campaign_results: kind, id, happened_at, messages, delivered, clicked
values
    ('message', 'm1', timestamp '2025-05-02', 1, 1, 1),
    ('message', 'm2', timestamp '2025-05-02', 1, 0, 0)

-- case: an order in another currency recovers its conversation, and counts nowhere else
-- params currency_code='EUR'
-- given conversations: conversation_id, created_at
values ('c1', '2025-05-01')
-- given messages: message_id, conversation_id, direction, created_at
values ('m1', 'c1', 'inbound', '2025-05-01')
-- given attributions: order_id, conversation_id, recovered, ordered_at, amount, currency_code
values ('o1', 'c1', true, '2025-05-04', 10, 'USD')
-- expect stg_campaign_results: kind, id, recovered, sales
values ('conversation', 'c1', 1, 0.00)

-- case: orders placed up to as_of, also those that count no longer
-- params as_of='2025-06-01'
-- given attributions: order_id, conversation_id, recovered, ordered_at, amount
values ('o1', 'c1', true, '2025-05-31', 10), ('o2', 'c1', false, '2025-05-31', 0), ('o3', 'c1', true, '2025-06-02', 5)
-- expect stg_attributions: order_id, recovered, amount
values ('o1', true, 10.00), ('o2', false, 0.00)

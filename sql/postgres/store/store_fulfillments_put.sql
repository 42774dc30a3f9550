insert into fulfillment as stored (
    brand_id, external_id, order_external_id, status, shipment_status, tracking_company, tracking_numbers, tracking_urls,
    created_at, updated_at
)
select
    $1, external_id, order_external_id, status, shipment_status, tracking_company, tracking_numbers, tracking_urls, created_at,
    updated_at
from json_to_recordset($2::text::json) as given (
    external_id text, order_external_id text, status text, shipment_status text, tracking_company text,
    tracking_numbers text[], tracking_urls text[], created_at timestamptz, updated_at timestamptz
)
on conflict (brand_id, external_id) do update set
    order_external_id = excluded.order_external_id,
    status = excluded.status,
    shipment_status = excluded.shipment_status,
    tracking_company = excluded.tracking_company,
    tracking_numbers = excluded.tracking_numbers,
    tracking_urls = excluded.tracking_urls,
    created_at = excluded.created_at,
    updated_at = excluded.updated_at

-- Of orders that are erased already, which are nobody's: one may have been written meanwhile. It reads all that were erased.
update fulfillment set tracking_numbers = '{}', tracking_urls = '{}'
where brand_id = $1
    and (tracking_numbers <> '{}' or tracking_urls <> '{}')
    and order_external_id in (select external_id from store_order where brand_id = $1 and subject is null and erased)

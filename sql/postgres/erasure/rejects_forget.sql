delete from import_rejects where brand_id = $1 and path = $2

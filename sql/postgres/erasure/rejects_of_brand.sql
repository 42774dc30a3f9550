select path from import_rejects where brand_id = $1 and created_at <= $2

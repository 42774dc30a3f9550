-- Cursors of earlier generations go on in the newest: the files of those hold what was erased.
delete from served_generation
using lake_brand
where
    served_generation.brand_id = $1
    and lake_brand.brand_id = $1
    and served_generation.generation < lake_brand.generation

-- Until the end of the transaction nobody else makes a first key of the brand.
select id from brand where id = $1 for no key update

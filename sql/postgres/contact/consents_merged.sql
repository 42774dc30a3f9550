-- Contacts of those who were made one with another, or taken apart ($2: subjects), show what was said by them.
select merge_consents($1, $2::integer[])

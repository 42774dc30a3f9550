-- Contacts of those who were made one with another, taken apart, or linked to one more contact ($2: subjects) show what was
-- said by them.
select merge_consents($1, $2::integer[])

select brand_id, subject, customer, deleted
from subject_redirect
where xid >= $1::text::xid8 and xid < $2::text::xid8

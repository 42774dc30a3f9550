-- Whether as_of is another day of the brand's zone than an instant was: days since an order are counted anew.
select
    timezone(timezone, timezone('UTC', $1::timestamp))::date
    is distinct from timezone(timezone, timezone('UTC', as_of))::date as turned
from params

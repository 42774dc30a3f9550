import { PROFILE } from './customer-numbers.ts'
import type { Numbers } from './numbers.ts'

const MEMBER_COUNT = 'select count(*) as member_count from segment_members where segment_id = $segment_id'

/** Numbers of segments, and counts by a condition. */
export const SEGMENT_NUMBERS: readonly Numbers[] = [
  { operation: 'get_segment_audience', at: '', sql: MEMBER_COUNT },
  { operation: 'get_segment', at: 'audience', sql: MEMBER_COUNT },
  {
    operation: 'list_cdp_segment_members',
    at: '',
    sql: 'select least(count(*), 10000) as "totalSize" from segment_members where segment_id = $segment_id',
  },
  {
    operation: 'list_cdp_segment_members',
    at: 'list[].properties',
    sql: `select ${PROFILE}
from customers
join segment_members using (customer)
where segment_id = $segment_id
order by customer_id
limit 25`,
  },
  { operation: 'count_items', item: 'profile', at: '', sql: 'select count(*) as count from customers' },
  { operation: 'count_items', item: 'event', at: '', sql: 'select count(*) as count from stg_events' },
]

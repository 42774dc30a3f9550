import { METRIC_NAMES, metricSql } from '../campaign/metric.ts'
import type { Numbers } from './numbers.ts'

/** What campaigns came to in the last thirty days, and in those before. */
const STATS = `with days as (
    select
        (timezone(params.timezone, timezone('UTC', happened_at)))::date as day,
        (timezone(params.timezone, timezone('UTC', as_of)))::date as today,
        stg_campaign_results.*
    from stg_campaign_results, params
),

valued as (
    select
        is_current,
        ${METRIC_NAMES.map((name) => `${metricSql(name)} as ${name}`).join(',\n        ')}
    from (values (true), (false)) as span (is_current)
    left join days on is_current = (day > today - 30) and day > today - 60 and day <= today
    group by is_current
)

select
    name,
    max(value) filter (is_current) as current_value,
    max(value) filter (not is_current) as previous_value
from (unpivot valued on columns(* exclude (is_current)) into name name value value)
group by name
order by list_position([${METRIC_NAMES.map((name) => `'${name}'`).join(', ')}], name)`

/** Numbers of what campaigns came to. */
export const STATS_NUMBERS: readonly Numbers[] = [
  {
    operation: 'get_performance_stats',
    query: `stats=${METRIC_NAMES.join(',')}`,
    at: 'stats',
    sql: STATS,
  },
]

import type { Reader } from '../op.ts'
import { METRIC_NAMES, type MetricName, metricSql, nothing } from './metric.ts'
import { type DateRange, daysOf } from './range.ts'

/** Performance of campaigns, computed from the model stg_campaign_results. */

export interface Asked {
  range: DateRange
  compare: DateRange
  timezone: string
  /** Absent: what belongs to no campaign, too. */
  campaignIds?: readonly string[]
}

type Values = Readonly<Record<MetricName, string>>

interface Series {
  dates: string[]
  values: number[]
}

export interface Measured {
  current: string
  previous: string
  progress: number
}

/** Days are those of the asked zone, whatever the clocks did on them. */
const COUNTED = `
  with spans as (
    select 'current' as span, $2::date as first_day, $3::date as last_day
    union all
    select 'previous', $4::date, $5::date
  ),
  days as (
    select (timezone($1, timezone('UTC', happened_at)))::date as day, *
    from stg_campaign_results
    where $6::varchar is null or campaign_id in (select unnest($6::json::varchar[]))
  )
  from days join spans on day between first_day and last_day`

const VALUES = METRIC_NAMES.map((name) => `${metricSql(name)} as ${name}`).join(', ')

const BY_DAY = `select span, day::varchar as day, ${VALUES} from (${COUNTED}) group by grouping sets ((span), (span, day))`
const BY_CAMPAIGN = `select span, campaign_id, ${VALUES} from (${COUNTED}) group by span, campaign_id`

const parameters = ({ range, compare, timezone, campaignIds }: Asked) => [
  ...[timezone, range.from, range.to, compare.from, compare.to],
  campaignIds ? JSON.stringify(campaignIds) : null,
]

type Span = 'current' | 'previous'

/** Metrics over all that was asked for, and day by day. */
export async function statistics(reader: Reader, asked: Asked) {
  const rows = await reader.rows<Values & { span: Span; day: string | null }>(BY_DAY, parameters(asked))
  const find = (span: Span, day: string | null) => rows.find((row) => row.span === span && row.day === day)
  const byDay = new Map(rows.map((row) => [`${row.span} ${row.day}`, row]))
  const series = (name: MetricName, span: Span, { from, to }: DateRange): Series => {
    const dates = daysOf({ from, to })
    return { dates, values: dates.map((day) => Number(byDay.get(`${span} ${day}`)?.[name] ?? 0)) }
  }
  return (name: MetricName) => ({
    ...measured(name, find('current', null), find('previous', null)),
    chart: series(name, 'current', asked.range),
    comparison: series(name, 'previous', asked.compare),
  })
}

/** Metrics of each campaign. */
export async function comparison(reader: Reader, asked: Asked) {
  const rows = await reader.rows<Values & { span: Span; campaign_id: string }>(BY_CAMPAIGN, parameters(asked))
  const of = new Map(rows.map((row) => [`${row.span} ${row.campaign_id}`, row]))
  return (campaignId: string, name: MetricName) =>
    measured(name, of.get(`current ${campaignId}`), of.get(`previous ${campaignId}`))
}

function measured(name: MetricName, now: Values | undefined, before: Values | undefined): Measured {
  const current = now?.[name] ?? nothing(name)
  const previous = before?.[name] ?? nothing(name)
  return { current, previous, progress: progressOf(Number(current), Number(previous)) }
}

/** The change in per cent, to two places; 0 when there was nothing before. */
const progressOf = (current: number, previous: number): number =>
  previous === 0 ? 0 : Math.round(((current - previous) / Math.abs(previous)) * 10_000) / 100

import * as v from 'valibot'
import { isMetric, METRIC_NAMES, METRICS, type MetricName } from '../campaign/metric.ts'
import { dayIn, MOST_DAYS, rangesOf, type SentRanges } from '../campaign/range.ts'
import type { CampaignRow } from '../campaign/saved.ts'
import { campaignById } from '../campaign/saved.ts'
import { campaignItem } from '../campaign/shown.ts'
import { comparison, statistics } from '../campaign/statistics.ts'
import { day, id, named, queryIds, queryTexts, texts, uuid } from '../fields.ts'
import { type Ctx, type Op, op } from '../op.ts'
import { knownTimezone } from '../time.ts'
import { CampaignItem } from './campaign-fields.ts'
import * as example from './stats-example.ts'

const MOST_STATS = 50
const MOST_CAMPAIGNS = 100

const date = v.pipe(v.string(), v.isoDate())
const amount = v.pipe(v.string(), v.regex(/^-?\d+(\.\d+)?$/))
const chart = v.object({ dates: v.array(date), values: v.array(v.number()) })

const Stat = named('Stat', {
  name: v.string(),
  title: v.string(),
  description: v.string(),
  current_value: amount,
  previous_value: amount,
  progress: v.number(),
  chart,
  comparison_chart: chart,
})

const Stats = named('Stats', {
  stats: v.array(Stat),
  errors: texts,
  date_range: v.object({ from: date, to: date, compare_from: date, compare_to: date }),
  brand_id: id,
  query: v.object({ stats: texts, campaign_id: v.nullable(id), timezone: v.string() }),
})

const CampaignComparison = named('CampaignComparison', {
  brand_id: id,
  date_range: v.object({ from: date, to: date }),
  stats: texts,
  campaigns: v.array(
    v.object({
      ...CampaignItem.entries,
      stats: v.array(
        v.object({
          name: v.string(),
          title: v.string(),
          current_value: amount,
          previous_value: amount,
          progress: v.number(),
        }),
      ),
      errors: texts,
    }),
  ),
  errors: texts,
  notes: texts,
})

const timezone = v.optional(
  v.pipe(
    v.string(),
    v.check((name) => knownTimezone(name) !== undefined, 'must be a time zone such as Europe/Berlin'),
  ),
)

const WHAT = `Metrics: ${METRIC_NAMES.join(', ')}. Amounts are in the currency of the brand and rates in per cent, both as decimal strings without a symbol; progress is the change in per cent, 0 when there was nothing before.`

/** Names of metrics, and those that are none. */
function known(names: readonly string[]): { metrics: MetricName[]; errors: string[] } {
  return { metrics: names.filter(isMetric), errors: names.filter((name) => !isMetric(name)) }
}

/** The time zone and the days of a call. */
function whenOf({ brand, now }: Ctx, sent: SentRanges & { timezone?: string | undefined }) {
  const name = sent.timezone ?? brand.timezone
  const zone = knownTimezone(name) ?? 'UTC'
  return { name, timezone: zone, ...rangesOf(sent, dayIn(zone, now)) }
}

export const statsOps: readonly Op[] = [
  op({
    name: 'get_performance_stats',
    route: 'GET /v1/stats',
    scopes: ['stats:read'],
    errors: ['not_found'],
    what: `How campaigns perform, of one campaign or of all, with a chart by day. Days are those of timezone (the brand’s unless given): from and to are included, ${MOST_DAYS.toLocaleString('en')} days at most and by default the last 30, compared with as many before them. Names in stats that are no metric are in errors. ${WHAT}`,
    input: {
      query: v.strictObject({
        stats: queryTexts({ max: MOST_STATS }),
        from: v.optional(day),
        to: v.optional(day),
        compare_from: v.optional(day),
        compare_to: v.optional(day),
        campaign_id: v.optional(uuid),
        timezone,
      }),
    },
    output: Stats,
    example: example.STATS,
    run: async (ctx, { query }) => {
      const { metrics, errors } = known(query.stats)
      const { name: zone, range, compare, ...when } = whenOf(ctx, query)
      if (query.campaign_id) await campaignById(ctx.db, query.campaign_id)
      const of = query.campaign_id ? { campaignIds: [query.campaign_id] } : {}
      const measured = await statistics(await ctx.lake.sources(), { ...when, ...of, range, compare })
      return {
        stats: metrics.map((name) => {
          const { current, previous, progress, chart, comparison } = measured(name)
          const { title, description } = METRICS[name]
          return {
            ...{ name, title, description, current_value: current, previous_value: previous, progress },
            ...{ chart, comparison_chart: comparison },
          }
        }),
        errors,
        date_range: { ...range, compare_from: compare.from, compare_to: compare.to },
        brand_id: ctx.brand.id,
        query: { stats: query.stats, campaign_id: query.campaign_id ?? null, timezone: zone },
      }
    },
  }),

  op({
    name: 'compare_campaigns',
    route: 'GET /v1/campaigns/compare',
    scopes: ['campaigns:read'],
    what: `Campaigns side by side: those in campaign_ids, else all active ones, by some metrics or by all, each against as many days before. Days as of get_performance_stats. ${WHAT}`,
    input: {
      query: v.strictObject({
        campaign_ids: v.optional(queryIds({ max: MOST_CAMPAIGNS })),
        stats: v.optional(queryTexts({ max: MOST_STATS })),
        from: v.optional(day),
        to: v.optional(day),
        timezone,
      }),
    },
    output: CampaignComparison,
    example: example.COMPARED,
    run: async (ctx, { query }) => {
      const { metrics, errors } = known(query.stats ?? METRIC_NAMES)
      const { name: zone, range, compare, ...when } = whenOf(ctx, query)
      const { campaigns, missing } = await compared(ctx, query.campaign_ids)
      const campaignIds = campaigns.map((campaign) => campaign.id)
      const measured = await comparison(await ctx.lake.sources(), { ...when, range, compare, campaignIds })
      return {
        brand_id: ctx.brand.id,
        date_range: range,
        stats: metrics,
        campaigns: campaigns.map((campaign) => ({
          ...campaignItem(campaign),
          stats: metrics.map((name) => {
            const { current, previous, progress } = measured(campaign.id, name)
            const { title } = METRICS[name]
            return { name, title, current_value: current, previous_value: previous, progress }
          }),
          errors: [],
        })),
        errors: [...errors, ...missing.map((one) => `There is no campaign ${one}.`)],
        notes: [
          `Days are those of ${zone}, compared with ${compare.from} to ${compare.to}.`,
          `Amounts are in ${ctx.brand.currency_code}, rates in per cent.`,
          ...(campaigns.length === 0 && !query.campaign_ids ? ['No campaign is active.'] : []),
        ],
      }
    },
  }),
]

/** The campaigns that are named, in their order, or the active ones. */
async function compared({ db }: Ctx, ids: readonly string[] | undefined) {
  const all = await db.many<CampaignRow>('campaigns_of_brand', [ids ? null : 'active', true])
  if (!ids) return { campaigns: all, missing: [] }
  const byId = new Map(all.map((campaign) => [campaign.id, campaign]))
  return {
    campaigns: ids.flatMap((one) => byId.get(one) ?? []),
    missing: ids.filter((one) => !byId.has(one)),
  }
}

import * as v from 'valibot'
import { count, currencyCode, id, list, money, named, paging, time } from '../fields.ts'
import { isOneOf } from '../lake/one-of.ts'
import { martsOf } from '../model/as-of.ts'
import { type Op, op, type Page, type Reader } from '../op.ts'
import { contactsOf } from './commerce-fields.ts'
import * as example from './insight-example.ts'
import { asOf, INSIGHT_RATE } from './insights.ts'
import { type Part, partOf, walked } from './walk.ts'

const LISTED: Page = { default: 25, max: 100, over: 'refuse' }

const AtRisk = named('CustomerAtRisk', {
  customer_id: v.string(),
  contact_id: v.nullable(id),
  email: v.nullable(v.string()),
  phone: v.nullable(v.string()),
  days_since_last_order: count,
  median_inter_order_days: v.nullable(v.number()),
  brand_median_inter_order_days: v.nullable(v.number()),
  at_risk_score: v.number(),
  last_order_at: time,
  order_count: count,
  ltv: money,
  currency_code: currencyCode,
})

interface AtRiskRow {
  customer: number
  customer_id: string
  days_since_last_order: number
  median_inter_order_days: number | null
  brand_median_inter_order_days: number | null
  at_risk_score: number
  last_order_at: Date
  order_count: number
  ltv: string
  currency_code: string
}

interface ChannelsRow {
  customer: number
  email: string | null
  phone: string | null
}

type Row = AtRiskRow & Omit<ChannelsRow, 'customer'>

/** Those at greatest risk first; among equals, who spent most. */
type Place = [score: number, ltv: string, customerId: string]

const BEHIND = `and (
  at_risk_score < $2::double
  or at_risk_score = $2::double and (ltv < $3::decimal(18, 2) or ltv = $3::decimal(18, 2) and customer_id > $4)
)`

/**
 * Who is on the page, and then how they are reached: to join all customers before takes ten times as long. Who was
 * merged or removed since the models were made is none of the customers any more.
 */
async function pageOf(marts: Reader, after: Place | null, most: number): Promise<Part<Row>> {
  const found = await marts.rows<AtRiskRow>(
    `select customer, customer_id, days_since_last_order, median_inter_order_days, brand_median_inter_order_days,
       at_risk_score, last_order_at, order_count, ltv, currency_code
     from churn cross join params where at_risk ${after ? BEHIND : ''}
     order by at_risk_score desc, ltv desc, customer_id limit $1`,
    [most + 1, ...(after ?? [])],
  )
  const { rows, goesOn } = partOf(found, most)
  const reached = await marts.rows<ChannelsRow>(
    `select customer, email, phone from customers where ${isOneOf(rows.map(({ customer }) => customer))}`,
  )
  const channels = new Map(reached.map(({ customer, email, phone }) => [customer, { email, phone }]))
  const reachable = rows.map((row) => ({
    ...row,
    ...(channels.get(row.customer) ?? { email: null, phone: null }),
  }))
  return { rows: reachable, goesOn }
}

export const atRiskOps: readonly Op[] = [
  op({
    name: 'list_at_risk_customers',
    route: 'GET /v1/insights/at-risk',
    scopes: ['customers:read'],
    feature: 'cdp',
    rate: INSIGHT_RATE,
    page: LISTED,
    what: 'Customers whose last order is more than twice as long ago as the time that they usually leave between orders, those at greatest risk first and among equals who spent most. Customers with orders on one day only are measured by the median of the brand. As of the last refresh, or of a past instant; for 24 hours a walk goes on in the data that it began in, unless a customer is erased. The list ends at row 10,000.',
    input: { query: v.strictObject({ ...paging(LISTED), as_of: asOf }) },
    output: list(AtRisk),
    example: example.AT_RISK,
    run: async (ctx, { query: { limit, cursor, as_of } }) => {
      const { rows, next_cursor } = await walked<Row, Place>({
        cursors: ctx.cursors,
        limit,
        cursor,
        filters: { as_of },
        open: (begun) => martsOf(ctx, as_of, begun),
        rows: pageOf,
        keyOf: ({ at_risk_score, ltv, customer_id }) => [at_risk_score, ltv, customer_id],
      })
      const contacts = await contactsOf(ctx.db, rows)
      const data = rows.map(({ customer, last_order_at, ...row }) => ({
        ...row,
        contact_id: contacts.get(customer) ?? null,
        last_order_at: last_order_at.toISOString(),
      }))
      return { data, next_cursor }
    },
  }),
]

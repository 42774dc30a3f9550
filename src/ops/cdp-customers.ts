import * as v from 'valibot'
import { count, named, pathValue } from '../fields.ts'
import { isOneOf } from '../lake/one-of.ts'
import { type Ctx, type Op, op, type Published, type Reader } from '../op.ts'
import {
  cdpMartsOf,
  checkWindow,
  LISTED,
  offsetOf,
  offsetPaging,
  offsetUnread,
  PAST_COUNTED,
  resultsOf,
  WINDOW,
} from './cdp-fields.ts'
import { MATCHES, matchOf, partyOf } from './cdp-party.ts'
import * as example from './cdp-profile-example.ts'
import { Order, type OrderRow } from './commerce-fields.ts'
import { isoOf } from './customer-fields.ts'
import { Insights, insightsOf, NONE } from './customer-insights.ts'
import { placedBy } from './customer-orders.ts'
import type { CustomerRow, FoundCustomer } from './customer-rows.ts'
import { asOf } from './insights.ts'
import type { Place } from './keyset.ts'
import { paged } from './walk.ts'

const reading = { surface: 'cdp', feature: 'beta:cdp-commerce', tool: false } as const

const path = v.strictObject({ identifier: pathValue })

const { id, external_id, number, state, billing_status, total, currency_code, created_at, recovered_at } =
  Order.entries

const CdpOrder = named('CdpOrder', {
  ...{ id, external_id, number, state, billing_status, total, currency_code },
  customer: v.object({ contact_id: Order.entries.customer.entries.contact_id }),
  ...{ created_at, recovered_at },
})

/** Without lines: those of a page may come to 200 MB, and none is shown. */
const SHOWN = [
  'id',
  'external_id',
  'number',
  'state',
  'billing_status',
  'total',
  'currency_code',
  'created_at',
  'recovered_at',
] as const satisfies (keyof OrderRow)[]
type Shown = Pick<OrderRow, (typeof SHOWN)[number]>

/** A walk stays in the generation that it began in while that is kept; later it goes on in the newest. */
interface Position extends Place {
  generation: number
}

export const cdpCustomerOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_cdp_customer_orders',
    route: 'GET /cdp/customers/{identifier}/orders',
    scopes: ['commerce:read'],
    page: LISTED,
    errors: ['upstream_error'],
    what: 'Orders of a customer in whatever state as of the last refresh, newest first. The identifier is a profile id, email, phone, store customer id or contact id, told by its shape. A profile that the store does not know has none.',
    input: {
      path,
      query: v.strictObject({
        ...offsetPaging(LISTED),
        offset: offsetUnread,
        cursor: v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty'))),
      }),
    },
    output: v.object({
      list: v.array(CdpOrder),
      totalSize: count,
      offset: count,
      pageSize: count,
      scope: v.string(),
      nextCursor: v.nullable(v.string()),
    }),
    example: example.ORDERS,
    run: async (ctx, { path: { identifier }, query }) => {
      const filters = { identifier }
      const from = ctx.cursors.open<Position>(query.cursor, filters)
      const { limit } = query
      const offset = from ? 0 : offsetOf(query.offset)
      if (!from) checkWindow({ limit, offset })
      const { profile, contactId, generation } = await partyOf(ctx, identifier)
      const served = profile && (await resultsOf(ctx, from?.generation, generation))
      const whose = profile?.subjects ?? []
      const found = served
        ? await placedBy<Shown>(served, whose, SHOWN.join(', '), { after: from, limit, offset })
        : []
      const { rows, last } = paged(found, limit)
      const next = served && last && { generation: served.generation, value: last.value, id: last.id }
      return {
        list: rows.map(({ number: shown, ...row }) => ({
          ...{ id: row.id, external_id: row.external_id, number: shown ?? row.external_id },
          ...{ state: row.state, billing_status: row.billing_status, total: row.total },
          currency_code: row.currency_code,
          customer: { contact_id: contactId },
          created_at: row.created_at.toISOString(),
          recovered_at: isoOf(row.recovered_at),
        })),
        totalSize: served ? await countOf(served, whose) : 0,
        offset,
        pageSize: limit,
        scope: ctx.brand.shop_domain,
        nextCursor: next ? ctx.cursors.seal(next, filters) : null,
      }
    },
  }),

  op({
    ...reading,
    name: 'get_cdp_customer_insights',
    route: 'GET /cdp/customers/{identifier}/insights',
    scopes: ['customers:read'],
    errors: ['upstream_error'],
    what: `Lifetime value, RFM scores, the five products with the greatest revenue and the risk of churn of one customer, as of the last refresh or of a past instant. The identifier is a profile id, email, phone, store customer id or contact id, told by its shape; \`matched_by\` says what the store knows the customer by. ${PAST_COUNTED}`,
    input: { path, query: v.strictObject({ as_of: asOf }) },
    output: v.object({
      identifier: v.string(),
      matched_by: v.picklist(MATCHES),
      scope: v.string(),
      insights: Insights,
    }),
    example: example.INSIGHTS,
    run: async (ctx, { path: { identifier }, query: { as_of } }) => {
      // What is wrong with the instant is said before who is not there.
      const past = as_of && (await cdpMartsOf(ctx, as_of))
      const party = await partyOf(ctx, identifier)
      const { profile, generation } = party
      const served = await resultsOf(ctx, undefined, generation)
      const insights =
        profile && (past ? await insightsOf(past, profile.customer) : await insightsNow(ctx, served, profile))
      return {
        identifier,
        matched_by: await matchOf(ctx, served, party),
        scope: ctx.brand.shop_domain,
        insights: insights ?? NONE,
      }
    },
  }),
]

/** Those that are published; before the first refresh they are computed. */
const insightsNow = async (ctx: Ctx, served: Published | null, profile: FoundCustomer) =>
  served
    ? await insightsOf(served, await buyerOf(served, profile))
    : await insightsOf(await cdpMartsOf(ctx, undefined), profile.customer)

/** Until a merge is published, who has the orders that there are of the profile. */
async function buyerOf(served: Published, { customer, subjects }: FoundCustomer): Promise<number> {
  if (subjects.length === 1) return customer
  const [own] = await served.of([customer], ['customers'])
  if (own?.<CustomerRow>('customers')[0]?.orders_count) return customer
  const [buyer] = await served.rows<Pick<CustomerRow, 'customer'>>(
    `select customer from customers where ${isOneOf(subjects)} and orders_count > 0 order by customer limit 1`,
  )
  return buyer?.customer ?? customer
}

async function countOf(reader: Reader, customers: readonly number[]): Promise<number> {
  const [all] = await reader.rows<{ orders: number }>(
    `select count(*) as orders from (from orders where ${isOneOf(customers)} limit $1)`,
    [WINDOW],
  )
  return all?.orders ?? 0
}

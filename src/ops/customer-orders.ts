import * as v from 'valibot'
import { list, paging } from '../fields.ts'
import { isOneOf } from '../lake/one-of.ts'
import { type Ctx, type Op, op, type Published, type Reader } from '../op.ts'
import * as example from './commerce-example.ts'
import {
  contactsOf,
  Order,
  orderOf,
  reachable,
  SUBSCRIPTION_COLUMNS,
  Subscription,
  type SubscriptionRow,
  subscriptionOf,
} from './commerce-fields.ts'
import * as customer from './customer-example.ts'
import { customerPath, LISTED } from './customer-fields.ts'
import { findCustomer } from './customer-rows.ts'
import { afterSql, orderSql, type Place, type RowOrder } from './keyset.ts'
import { type OrderPlace, ordersAt, PLACED } from './order-page.ts'
import { type Part, partOf } from './walk.ts'

const reading = { scopes: ['customers:read'], feature: 'cdp', page: LISTED } as const
const input = { path: customerPath, query: v.strictObject(paging(LISTED)) }

const STARTED: RowOrder = { column: 'started_at', type: 'timestamp', descending: true, id: 'id' }

/** A walk stays in the generation that it began in while that is kept; later it goes on in the newest. */
interface Position extends Place {
  generation: number
}

interface Row {
  id: string
  /** Of the column that orders the rows. */
  value: string | null
}

interface Asked {
  path: { id: string }
  query: { limit: number; cursor?: string | undefined }
}

/** A page of what a customer has, profiles that were merged into it included. */
async function pageOf<Found extends Row>(
  ctx: Ctx,
  { path: { id }, query: { limit, cursor } }: Asked,
  rowsOf: (served: Published, customers: readonly number[], from: From) => Promise<Part<Found>>,
): Promise<{ rows: Found[]; next_cursor: string | null }> {
  const from = ctx.cursors.open<Position>(cursor, { id })
  const { subjects } = await findCustomer(ctx, id)
  const served = await ctx.lake.served(from?.generation)
  if (!served) return { rows: [], next_cursor: null }
  const { rows, goesOn } = await rowsOf(served, subjects, { after: from, limit })
  const last = goesOn ? rows.at(-1) : undefined
  const next: Position | undefined = last && {
    generation: served.generation,
    value: last.value,
    id: last.id,
  }
  return { rows, next_cursor: next ? ctx.cursors.seal(next, { id }) : null }
}

interface From {
  after: Place | null
  limit: number
  offset?: number
}

/** Of orders of these customers, newest first, some columns. */
export function placedBy<Columns>(
  reader: Reader,
  customers: readonly number[],
  columns: string,
  { after, limit, offset = 0 }: From,
): Promise<(Columns & OrderPlace)[]> {
  const place = afterSql(PLACED, after, 3)
  return reader.rows(
    `select ${columns}, created_at::varchar as value
     from orders where ${isOneOf(customers)} and ${place.text}
     order by ${orderSql(PLACED)} limit $1 offset $2`,
    [limit + 1, offset, ...place.values],
  )
}

async function ordersOf(served: Published, customers: readonly number[], from: From) {
  const places = await placedBy<OrderPlace>(served, customers, 'id', from)
  const { rows, goesOn } = await ordersAt(served, places, from.limit, {
    where: [isOneOf(customers)],
    values: [],
  })
  return { rows: await reachable(served, rows), goesOn }
}

async function subscriptionsOf(reader: Reader, customers: readonly number[], { after, limit }: From) {
  const place = afterSql(STARTED, after, 2)
  const found = await reader.rows<SubscriptionRow & Row>(
    `select ${SUBSCRIPTION_COLUMNS}, started_at::varchar as value from subscriptions
     where ${isOneOf(customers)} and ${place.text}
     order by ${orderSql(STARTED)} limit $1`,
    [limit + 1, ...place.values],
  )
  return partOf(found, limit)
}

export const customerOrderOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_customer_orders',
    route: 'GET /v1/customers/{id}/orders',
    what: 'Orders of a customer in whatever state as of the last refresh, newest first. A page of large orders is shorter than its limit.',
    input,
    output: list(Order),
    example: { path: { id: customer.ID }, output: example.ORDERS.output },
    run: async (ctx, asked) => {
      const { rows, next_cursor } = await pageOf(ctx, asked, ordersOf)
      const contacts = await contactsOf(ctx.db, rows)
      return { data: rows.map(({ value: _, ...row }) => orderOf(row, contacts)), next_cursor }
    },
  }),

  op({
    ...reading,
    name: 'list_customer_subscriptions',
    route: 'GET /v1/customers/{id}/subscriptions',
    what: 'Subscriptions of a customer as of the last refresh, those that started last first.',
    input,
    output: list(Subscription),
    example: { path: { id: customer.ID }, output: example.SUBSCRIPTIONS.output },
    run: async (ctx, asked) => {
      const { rows, next_cursor } = await pageOf(ctx, asked, subscriptionsOf)
      return { data: rows.map(({ value: _, ...row }) => subscriptionOf(row)), next_cursor }
    },
  }),
]

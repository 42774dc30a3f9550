import * as v from 'valibot'
import { list, paging } from '../fields.ts'
import { isOneOf } from '../lake/one-of.ts'
import { type Ctx, type Op, op, type Published, type Reader } from '../op.ts'
import * as example from './commerce-example.ts'
import {
  contactsOf,
  ORDER_COLUMNS,
  Order,
  type OrderRow,
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

const reading = { scopes: ['customers:read'], feature: 'cdp', page: LISTED } as const
const input = { path: customerPath, query: v.strictObject(paging(LISTED)) }

const newest = (column: string): RowOrder => ({ column, type: 'timestamp', descending: true, id: 'id' })
const PLACED = newest('created_at')
const STARTED = newest('started_at')

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
  rowsOf: (served: Published, customers: readonly number[], part: Part) => Promise<Found[]>,
): Promise<{ rows: Found[]; next_cursor: string | null }> {
  const from = ctx.cursors.open<Position>(cursor, { id })
  const { subjects } = await findCustomer(ctx, id)
  const served = await ctx.lake.served(from?.generation)
  if (!served) return { rows: [], next_cursor: null }
  const found = await rowsOf(served, subjects, { after: from, limit: limit + 1 })
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  const next: Position | undefined = last && {
    generation: served.generation,
    value: last.value,
    id: last.id,
  }
  return { rows, next_cursor: next ? ctx.cursors.seal(next, { id }) : null }
}

interface Part {
  after: Place | null
  limit: number
  offset?: number
}

/** Orders of these customers, newest first. */
export function ordersOf(
  reader: Reader,
  customers: readonly number[],
  { after, limit, offset = 0 }: Part,
): Promise<(OrderRow & Row)[]> {
  const place = afterSql(PLACED, after, 3)
  return reader.rows(
    `select ${ORDER_COLUMNS}, created_at::varchar as value
     from orders where ${isOneOf(customers)} and ${place.text}
     order by ${orderSql(PLACED)} limit $1 offset $2`,
    [limit, offset, ...place.values],
  )
}

function subscriptionsOf(reader: Reader, customers: readonly number[], { after, limit }: Part) {
  const place = afterSql(STARTED, after, 2)
  return reader.rows<SubscriptionRow & Row>(
    `select ${SUBSCRIPTION_COLUMNS}, started_at::varchar as value from subscriptions
     where ${isOneOf(customers)} and ${place.text}
     order by ${orderSql(STARTED)} limit $1`,
    [limit, ...place.values],
  )
}

export const customerOrderOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_customer_orders',
    route: 'GET /v1/customers/{id}/orders',
    what: 'Orders of a customer in whatever state as of the last refresh, newest first.',
    input,
    output: list(Order),
    example: { path: { id: customer.ID }, output: example.ORDERS.output },
    run: async (ctx, asked) => {
      const { rows, next_cursor } = await pageOf(ctx, asked, async (served, customers, part) =>
        reachable(served, await ordersOf(served, customers, part)),
      )
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

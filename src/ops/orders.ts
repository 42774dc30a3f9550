import * as v from 'valibot'
import { fail } from '../errors.ts'
import { emailOf } from '../event/email.ts'
import { storeIdOf } from '../event/id.ts'
import { lastInstant, list, paging, pathValue, timestamp } from '../fields.ts'
import { phoneOf } from '../identity/channel.ts'
import { type Ctx, type Op, op, type Page, type Published } from '../op.ts'
import * as example from './commerce-example.ts'
import {
  BILLING_STATUSES,
  contactsOf,
  Order,
  type OrderRow,
  orderOf,
  type Reachable,
  reachable,
  STATES,
} from './commerce-fields.ts'
import type { Place } from './keyset.ts'
import { type ListedOrder, ordersBehind } from './order-page.ts'
import { newest, walked } from './walk.ts'

const LISTED: Page = { default: 25, max: 100, over: 'refuse' }

const oneOf = <const Options extends readonly string[]>(options: Options) =>
  v.optional(v.picklist(options, `must be one of ${options.join(', ')}`))
const named = v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty')))

const FILTERS = {
  created_at_gte: v.optional(timestamp),
  created_at_lte: v.optional(lastInstant),
  state: oneOf(STATES),
  billing_status: oneOf(BILLING_STATUSES),
  customer_email: named,
  customer_phone: named,
  customer_id: v.optional(
    v.pipe(
      v.string(),
      v.nonEmpty('must not be empty'),
      v.description(
        'As customers have it (id), neither a contact_id nor the store’s id; who is unknown has no orders.',
      ),
    ),
  ),
}

type Filters = v.InferOutput<v.ObjectSchema<typeof FILTERS, undefined>>

/** Identifiers by kind that a call filters by, as they are stored; refuses what is no email or phone number. */
function wanted({ brand }: Ctx, { customer_email, customer_phone, customer_id }: Filters) {
  const email = customer_email === undefined ? undefined : emailOf(customer_email)
  if (email === undefined && customer_email !== undefined)
    throw fail('bad_request', 'customer_email must be an email address')
  const phone = customer_phone === undefined ? undefined : phoneOf(customer_phone, brand.default_phone_region)
  if (phone === undefined && customer_phone !== undefined)
    throw fail('bad_request', 'customer_phone must be a phone number, such as +12015550123')
  return { email, phone, profile_id: customer_id }
}

/** Those who are named by all identifiers, as ordinals before and after merges; undefined without any. */
async function customersOf(
  ctx: Ctx,
  identifiers: Readonly<Record<string, string | undefined>>,
): Promise<number[] | undefined> {
  let all: number[] | undefined
  for (const [kind, value] of Object.entries(identifiers)) {
    if (value === undefined) continue
    const rows = await ctx.db.many<{ subject: number }>('subjects_named', [kind, value])
    const subjects = rows.map(({ subject }) => subject)
    all = all?.filter((subject) => subjects.includes(subject)) ?? subjects
  }
  return all
}

export const orderOps: readonly Op[] = [
  op({
    name: 'list_orders',
    route: 'GET /v1/commerce/orders',
    scopes: ['commerce:read'],
    page: LISTED,
    what: 'Orders of the store as of the last refresh (every 15 minutes), newest first, by when they were placed, their state, or the customer whom they belong to. Orders in every state are listed; sales are those that are complete, their total less refunded_total. A page of large orders is shorter than its limit. The list ends at row 10,000: narrow it with filters.',
    input: { query: v.strictObject({ ...paging(LISTED), ...FILTERS }) },
    output: list(Order),
    example: example.ORDERS,
    run: async (ctx, { query: { limit, cursor, ...filters } }) => {
      const identifiers = wanted(ctx, filters)
      const customers = await customersOf(ctx, identifiers)
      const { rows, next_cursor } = await walked<ListedOrder & Reachable, Place, Published>({
        cursors: ctx.cursors,
        limit,
        cursor,
        filters: { ...filters, ...identifiers },
        open: newest(ctx.lake),
        rows: async (served, after, most) => {
          const { rows, goesOn } = await ordersBehind(served, { ...filters, customers }, after, most)
          return { rows: await reachable(served, rows), goesOn }
        },
        keyOf: ({ value, id }) => ({ value, id }),
      })
      const contacts = await contactsOf(ctx.db, rows)
      return { data: rows.map(({ value: _, ...row }) => orderOf(row, contacts)), next_cursor }
    },
  }),

  op({
    name: 'get_order',
    route: 'GET /v1/commerce/orders/{id}',
    scopes: ['commerce:read'],
    what: 'One order as it is now, by its id or by the store’s own order id.',
    input: { path: v.strictObject({ id: pathValue }) },
    output: Order,
    example: example.ORDER_READ,
    run: async ({ db }, { path }) => {
      const row = await db.one<OrderRow & Reachable>('order_found', [path.id, storeIdOf(path.id)])
      return orderOf(row, await contactsOf(db, [row]))
    },
  }),
]

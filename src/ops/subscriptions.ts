import * as v from 'valibot'
import { list, paging } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import * as example from './commerce-example.ts'
import {
  SUBSCRIPTION_COLUMNS,
  Subscription,
  type SubscriptionRow,
  subscriptionOf,
} from './commerce-fields.ts'
import { afterSql, orderSql, type Place, type RowOrder } from './keyset.ts'
import { newest, partOf, walked } from './walk.ts'

const LISTED: Page = { default: 25, max: 100, over: 'refuse' }

const STARTED: RowOrder = { column: 'started_at', type: 'timestamp', descending: true, id: 'id' }

interface Listed extends SubscriptionRow {
  /** When it started, to the microsecond. */
  value: string | null
}

export const subscriptionOps: readonly Op[] = [
  op({
    name: 'list_subscriptions',
    route: 'GET /v1/commerce/subscriptions',
    scopes: ['commerce:read'],
    page: LISTED,
    what: 'Subscriptions of the store as of the last refresh (every 15 minutes), those that started last first. The list ends at row 10,000.',
    input: { query: v.strictObject(paging(LISTED)) },
    output: list(Subscription),
    example: example.SUBSCRIPTIONS,
    run: async ({ cursors, lake }, { query: { limit, cursor } }) => {
      const { rows, next_cursor } = await walked<Listed, Place>({
        cursors,
        limit,
        cursor,
        filters: {},
        open: newest(lake),
        rows: async (reader, after, most) => {
          const place = afterSql(STARTED, after, 2)
          const found = await reader.rows<Listed>(
            `select ${SUBSCRIPTION_COLUMNS}, started_at::varchar as value from subscriptions
             where ${place.text} order by ${orderSql(STARTED)} limit $1`,
            [most + 1, ...place.values],
          )
          return partOf(found, most)
        },
        keyOf: ({ value, id }) => ({ value, id }),
      })
      return { data: rows.map(({ value: _, ...row }) => subscriptionOf(row)), next_cursor }
    },
  }),
]

import * as v from 'valibot'
import {
  DISCOUNT_TYPES,
  type Discount,
  discountById,
  discounts,
  MINIMUM_TYPES,
} from '../campaign/discount.ts'
import { count, id, list, money, named, paging, time, uuid } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import { paged } from './walk.ts'

const LISTED: Page = { default: 50, max: 100, over: 'refuse' }

const SavedDiscount = named('Discount', {
  id,
  name: v.string(),
  type: v.picklist(DISCOUNT_TYPES),
  value: v.nullable(money),
  code: v.nullable(v.string()),
  is_static: v.boolean(),
  minimum: v.nullable(v.object({ type: v.picklist(MINIMUM_TYPES), value: money })),
  duration_days: v.nullable(count),
  created_at: time,
})

const shown = ({
  prefix: _,
  minimum_type,
  minimum_value,
  ...discount
}: Discount): v.InferOutput<typeof SavedDiscount> => ({
  ...discount,
  is_static: discount.code !== null,
  minimum:
    minimum_type === null || minimum_value === null ? null : { type: minimum_type, value: minimum_value },
  created_at: discount.created_at.toISOString(),
})

const ID = '0193d2d1-4c3a-7b60-a1f8-5e9d2c7b0f13'

const EXAMPLE = {
  id: ID,
  name: 'Ten percent to come back',
  type: 'percentage',
  value: '10.00',
  code: null,
  is_static: false,
  minimum: { type: 'amount', value: '40.00' },
  duration_days: 7,
  created_at: '2026-11-12T10:05:33.000Z',
}

const reading = { scopes: ['campaigns:read'], tool: false } as const

export const discountOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_discounts',
    route: 'GET /v1/discounts',
    page: LISTED,
    what: 'Saved discounts that campaigns can offer, newest first. A static one has one code for everybody; of the others each contact gets a code of their own, which is made in the store and good for `duration_days`.',
    input: { query: v.strictObject(paging(LISTED)) },
    output: list(SavedDiscount),
    example: { output: { data: [EXAMPLE], next_cursor: null } },
    run: async ({ db, cursors }, { query: { limit, cursor } }) => {
      const found = await discounts(db, { after: cursors.open<string>(cursor), limit: limit + 1 })
      const { rows, last } = paged(found, limit)
      return { data: rows.map(shown), next_cursor: last ? cursors.seal(last.id) : null }
    },
  }),

  op({
    ...reading,
    name: 'get_discount',
    route: 'GET /v1/discounts/{id}',
    what: 'One saved discount.',
    input: { path: v.strictObject({ id: uuid }) },
    output: SavedDiscount,
    example: { path: { id: ID }, output: EXAMPLE },
    run: async ({ db }, { path }) => shown(await discountById(db, path.id)),
  }),
]

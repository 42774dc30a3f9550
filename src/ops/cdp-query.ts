import * as v from 'valibot'
import { fail } from '../errors.ts'
import { count, jsonObject, named } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { compileCount } from '../segment/plan.ts'
import { readVocabulary } from '../segment/vocabulary.ts'
import { ITEM_TYPES, type ItemType } from '../segment/vocabulary-table.ts'
import * as example from './cdp-example.ts'
import { sourcesOf } from './cdp-fields.ts'

const Counted = named('QueryCount', { itemType: v.picklist(ITEM_TYPES), count, scope: v.string() })

/** Any text: what it does not name is 404. */
const itemType = v.pipe(v.string(), v.metadata({ jsonSchema: { type: 'string', enum: ITEM_TYPES } }))

const isItemType = (name: string): name is ItemType => ITEM_TYPES.some((one) => one === name)

export const cdpQueryOps: readonly Op[] = [
  op({
    name: 'count_items',
    route: 'POST /cdp/query/{itemType}/count',
    surface: 'cdp',
    scopes: ['customers:read'],
    feature: 'cdp',
    exact: true,
    rate: { count: 10, per: 'second', burst: 20 },
    errors: ['upstream_error'],
    effect: 'read',
    tool: false,
    what: 'How many profiles (visitors included) or events satisfy a condition of the vocabulary; all of them without one. Events of the last minute may be missing.',
    input: {
      path: v.strictObject({ itemType }),
      body: v.strictObject({ condition: v.optional(jsonObject) }),
    },
    output: Counted,
    example: example.COUNTED,
    run: async (ctx, { path: { itemType: item }, body: { condition = { type: 'matchAllCondition' } } }) => {
      if (!isItemType(item))
        throw fail('not_found', `There is no item type of this name. Known: ${ITEM_TYPES.join(', ')}`)
      const { text, values } = compileCount(readVocabulary(condition, item).tree, item)
      const sources = await sourcesOf(ctx)
      const [row] = await sources.rows<{ count: number }>(text, [...values])
      return { itemType: item, count: row?.count ?? 0, scope: ctx.brand.shop_domain }
    },
  }),
]

import * as v from 'valibot'
import { noSuchRecord } from '../errors.ts'
import { list, named, paging, queryInteger, text } from '../fields.ts'
import { SORT_COLUMNS, SORTED_BY, type SortColumn } from '../lake/sorted.ts'
import { type Ctx, type Op, op } from '../op.ts'
import { isRuleAttribute } from '../segment/attribute.ts'
import { inRules, propertiesOf } from '../segment/property.ts'
import { customProperties, PROPERTY_TYPES } from './custom-properties.ts'
import * as example from './customer-example.ts'
import { Customer, customerOf, customerPath, customersOf, LISTED } from './customer-fields.ts'
import {
  type CustomerRow,
  customerRow,
  customersFound,
  type FoundCustomer,
  findCustomer,
} from './customer-rows.ts'
import { type SortedPlace, sortedCustomers } from './sorted-customers.ts'
import { paged } from './walk.ts'

const MOST_FOUND = 25
const QUERY_LENGTH = 200

type Sort = SortColumn | `-${SortColumn}`
const SORTS = SORTED_BY.flatMap((column): Sort[] => [column, `-${column}`])

/** A walk stays in the generation that it began in while that is kept; later it goes on in the newest. */
interface Position extends SortedPlace {
  generation: number
}

const CustomerField = named('CustomerField', {
  /** Where it stands in a customer. */
  field: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  type: v.picklist(PROPERTY_TYPES),
  multivalued: v.boolean(),
  source: v.picklist(['built-in', 'custom']),
  sortable: v.boolean(),
  /** What rules of segments call it; null where they cannot ask of it. */
  rule: v.nullable(v.object({ source: v.string(), field: v.string() })),
})

const CATALOG = 'fields-v1' as const

const reading = { scopes: ['customers:read'], feature: 'cdp' } as const

export const customerOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_customers',
    route: 'GET /v1/customers',
    page: LISTED,
    what: 'Customers as of the last refresh, without anonymous visitors: by default the newest first. Sorted by one field, downwards with a minus; who has no value comes last, ties are by id.',
    input: {
      query: v.strictObject({
        ...paging(LISTED),
        sort: v.optional(
          v.picklist(SORTS, `must be ${SORTED_BY.join(', ')}, with - before it to sort downwards`),
          '-created_at',
        ),
      }),
    },
    output: list(Customer),
    example: { output: { data: [example.CUSTOMER], next_cursor: null } },
    run: async (ctx, { query: { limit, cursor, sort } }) => {
      const from = ctx.cursors.open<Position>(cursor, { sort })
      const served = await ctx.lake.served(from?.generation)
      if (!served) return { data: [], next_cursor: null }
      const column = sort.replace('-', '') as SortColumn
      const order = { column, descending: sort.startsWith('-') }
      const after = from && {
        ...from,
        position: from.generation === served.generation ? from.position : undefined,
      }
      const found = await sortedCustomers(served, order, { after, limit: limit + 1 })
      const { rows, last } = paged(found, limit)
      const next: Position | undefined = last && { generation: served.generation, ...last.place }
      return {
        data: await customersOf(ctx, rows),
        next_cursor: next ? ctx.cursors.seal(next, { sort }) : null,
      }
    },
  }),

  op({
    ...reading,
    name: 'search_customers',
    route: 'GET /v1/customers/search',
    what: 'Up to 25 customers with a text in an email, a phone, a name or an id of theirs, those of profiles merged into them included, in whatever case, with or without accents, as of the last refresh. A whole email or phone finds whom it identifies, also where a newer one is shown.',
    input: {
      query: v.strictObject({
        query: v.pipe(text({ min: 1, max: QUERY_LENGTH }), v.trim(), v.nonEmpty('must not be empty')),
        limit: v.optional(queryInteger({ min: 1, max: MOST_FOUND }), String(MOST_FOUND)),
      }),
    },
    output: list(Customer),
    example: { query: { query: 'ada@' }, output: { data: [example.CUSTOMER], next_cursor: null } },
    run: async (ctx, { query: { query, limit } }) => {
      const served = await ctx.lake.served()
      const rows = served ? await customersFound(ctx, served, query, limit) : []
      return { data: await customersOf(ctx, rows), next_cursor: null }
    },
  }),

  op({
    ...reading,
    name: 'list_customer_fields',
    route: 'GET /v1/customers/fields',
    what: 'What is known of customers: the built-in fields, and those that events of the brand set. With catalog=fields-v1 the version of the catalog is named.',
    input: { query: v.strictObject({ catalog: v.optional(v.string()) }) },
    output: v.object({
      ...list(CustomerField).entries,
      catalog_version: v.nullable(v.literal(CATALOG)),
    }),
    example: {
      query: { catalog: CATALOG },
      output: { data: example.FIELDS, next_cursor: null, catalog_version: CATALOG },
    },
    run: async (ctx, { query: { catalog } }) => ({
      data: [...BUILT_IN, ...(await customFields(ctx))],
      next_cursor: null,
      catalog_version: catalog === CATALOG ? CATALOG : null,
    }),
  }),

  op({
    ...reading,
    name: 'get_customer',
    route: 'GET /v1/customers/{id}',
    what: 'One customer as of the last refresh; who is newer, as of now. The id of a profile that was merged answers as the one it belongs to.',
    input: { path: customerPath },
    output: Customer,
    example: { path: { id: example.ID }, output: example.CUSTOMER },
    run: async (ctx, { path: { id } }) => {
      const found = await findCustomer(ctx, id)
      const served = await ctx.lake.served(undefined, found.generation)
      const row = (served && (await customerRow(served, found.customer))) ?? (await newCustomer(ctx, found))
      return customerOf(row, found.contact_id)
    },
  }),
]

/** Of a customer who became known after the last refresh: the models as they are now. */
async function newCustomer(ctx: Ctx, found: FoundCustomer): Promise<CustomerRow> {
  const row = await customerRow(await ctx.lake.sources(), found.customer)
  if (!row) throw noSuchRecord()
  return row
}

type Field = v.InferOutput<typeof CustomerField>

const BUILT_IN: readonly Field[] = propertiesOf('profiles').flatMap((property): Field[] => {
  const { reads } = property.field
  if (reads.is !== 'column') return []
  const column = reads.name
  return [
    {
      field: column === 'customer_id' ? 'id' : column,
      name: property.name,
      description: property.description,
      type: property.type,
      multivalued: property.multivalued,
      source: 'built-in',
      sortable: Object.hasOwn(SORT_COLUMNS, column),
      rule: property.rule && inRules(property) ? property.rule : null,
    },
  ]
})

async function customFields(ctx: Ctx): Promise<Field[]> {
  const custom = await customProperties(await ctx.lake.sources())
  return custom
    .map(({ name, type, multivalued }): Field => {
      const field = `attributes.${name}`
      return {
        field,
        name,
        description: null,
        type,
        multivalued,
        source: 'custom',
        sortable: false,
        rule: isRuleAttribute(name) ? { source: 'customer_attributes', field } : null,
      }
    })
    .sort((a, b) => (a.field < b.field ? -1 : 1))
}

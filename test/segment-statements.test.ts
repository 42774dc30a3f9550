import t from 'tap'
import { inputSchema } from '../src/http/json-schema.ts'
import type { Lake, Op, Published } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { createSegment } from '../src/segment/saved.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { hostileTexts, NAMES, PLACES } from './fixtures/hostile-definitions.ts'
import { type Input, leastInput } from './fixtures/op-input.ts'
import { randomSource } from './fixtures/random.ts'

const VALUES = 5_000
const AT_ONCE = 16

const db = await database(t)
const brand = await newBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
const anyone = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 0 } }
const { id: segment } = await createSegment(db.postgres.forBrand(brand.id), {
  ...{ name: 'Anyone', definition: anyone, createdBy: 'test' },
})
await db.postgres
  .sql`update segment set evaluated_at = now(), first_evaluated_at = now(), evaluated_version = 1`

/** Statements that were sent to DuckDB. No text of a caller is the name of anyone: they find nothing. */
let ran = new Set<string>()
const reader: Published = {
  generation: 1,
  rows: async (statement) => {
    ran.add(statement)
    return []
  },
  of: async (...asked) => {
    ran.add(asked.join(' '))
    return []
  },
}
const sources = async () => ({ ...reader, asOf: new Date() })
const nothing: Lake = { served: async () => reader, sources, pinned: sources }
const { call, key } = await api(t, db, OPS, { lake: () => nothing })
const as = await key(brand, ['segments:read', 'customers:read', 'commerce:read'])

const reads = OPS.filter(
  ({ route, scopes, signIn, effect }) =>
    !signIn &&
    scopes.some((scope) => ['segments:read', 'customers:read', 'commerce:read'].includes(scope)) &&
    (route?.startsWith('GET') || effect === 'read'),
)

/** A way to send a text to an operation. */
interface Place {
  name: string
  op: Op
  put(text: string, n: number): Input
}

const least = (op: Op): Input => {
  const input = leastInput(op)
  return input.path.id === undefined ? input : { ...input, path: { ...input.path, id: segment } }
}

const fieldsOf = (op: Op, part: 'path' | 'query') =>
  Object.keys((op.input[part] && inputSchema(op.input[part]).properties) ?? {})

const parameters = reads.flatMap((op) =>
  (['path', 'query'] as const).flatMap((part) =>
    fieldsOf(op, part).map(
      (field): Place => ({
        name: `${op.name} ${field}`,
        op,
        put: (text) => {
          const input = least(op)
          return { ...input, [part]: { ...input[part], [field]: text } }
        },
      }),
    ),
  ),
)

const named = (name: string) => reads.find((op) => op.name === name) as Op
const definitions = ['estimate_segment', 'preview_segment'].flatMap((name) =>
  Object.entries({ ...PLACES, ...NAMES }).map(
    ([place, definition]): Place => ({
      name: `${name} ${place}`,
      op: named(name),
      put: (text, n) => ({
        ...{ path: {}, query: {} },
        body: { ...(name === 'preview_segment' && { segment_id: segment }), definition: definition(text, n) },
      }),
    }),
  ),
)

const property = (propertyName: string, comparisonOperator: string, propertyValue: string) => ({
  type: 'profilePropertyCondition',
  parameterValues: { propertyName, comparisonOperator, propertyValue },
})
const CONDITIONS: Record<string, (text: string) => object> = {
  value: (text) => property('properties.firstName', 'equals', text),
  'property name': (text) => property(`properties.x${text}`, 'equals', text),
  'known name': (text) => property(text, 'equals', 'x'),
  operator: (text) => property('properties.firstName', text, 'x'),
  'event type': (text) => ({ type: 'eventTypeCondition', parameterValues: { eventTypeId: text } }),
  session: (text) => ({
    ...property('utm.source', 'startsWith', `a${text}`),
    type: 'sessionPropertyCondition',
  }),
}
const conditions = ['profile', 'event'].flatMap((itemType) =>
  Object.entries(CONDITIONS).map(
    ([place, condition]): Place => ({
      name: `count_items ${itemType} ${place}`,
      op: named('count_items'),
      put: (text) => ({ path: { itemType }, query: {}, body: { condition: condition(text) } }),
    }),
  ),
)
const places = [...parameters, ...definitions, ...conditions]

async function send({ op, put }: Place, text: string, n: number): Promise<number> {
  const { path, query, body } = put(text, n)
  const [method, template = ''] = (op.route as string).split(' ')
  const url = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ''))
  const search = new URLSearchParams(query).toString()
  const route = `${method} ${url}${search && `?${search}`}`
  return (await call(route, { as, ...(method === 'POST' && { body }) })).status
}

t.test(
  `${VALUES} hostile texts in every parameter, rule and condition leave the statements that run as they are`,
  async (t) => {
    const random = randomSource(t)
    // Some texts are numbers, or nothing at all once they are trimmed.
    for (const op of reads) await send({ name: op.name, op, put: () => least(op) }, '', 0)
    for (const place of places) {
      for (let n = 0; n < 40; n++) await send(place, 'harmless', n)
    }
    const known = ran
    t.ok(known.size > 100, `${known.size} statements`)
    ran = new Set()
    const statuses = new Map<number, number>()
    const texts = hostileTexts(random, VALUES).map((text) => text.toWellFormed())
    let next = 0
    const sending = Array.from({ length: AT_ONCE }, async () => {
      for (let n = next++; n < texts.length; n = next++) {
        const place = places[n % places.length] as Place
        const status = await send(place, texts[n] as string, n)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status >= 500) t.fail(`${place.name}: ${status} to ${JSON.stringify(texts[n])}`)
      }
    })
    await Promise.all(sending)
    t.same(
      [...ran].filter((statement) => !known.has(statement)),
      [],
    )
    t.ok(ran.size > 100, `${ran.size} statements`)
    t.ok((statuses.get(200) ?? 0) > VALUES / 5, JSON.stringify([...statuses]))
  },
)

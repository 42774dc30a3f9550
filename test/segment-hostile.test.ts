import t from 'tap'
import * as v from 'valibot'
import { Failure } from '../src/errors.ts'
import { sorting } from '../src/ops/cdp-fields.ts'
import { type Field, SOURCES, type SourceName } from '../src/segment/catalog.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { compileOne, compileSegments, displayOne } from '../src/segment/plan.ts'
import { agree, customers, type Sent } from './fixtures/evaluators.ts'
import { randomSource } from './fixtures/random.ts'
import { AS_OF, DAY, openStore, storeOf } from './fixtures/segment-store.ts'

const VALUES = 5_000

const HOSTILE = [
  "'; drop table customers; --",
  "'' or 1=1",
  '$1',
  '$1::VARCHAR)) or true --',
  '"; select 1',
  '\\',
  "\\'",
  "e'\\x00'",
  '\n--\n',
  '\r',
  '/* */',
  '{{x}}',
  '%_%',
  '𝕏\u202e\u2028',
  '__proto__',
  'null',
]
const PIECES = [
  ...HOSTILE,
  ') union select ',
  '::',
  ';',
  ',',
  ' and ',
  "'||'",
  'customers',
  '0',
  '\u0000',
  '\ud800',
]

const where = (field: string, op: string, value: unknown) => ({ field, op, value })

/** All text that runs for a definition; null when it is refused as it should be. */
function shape(definition: object): string | null {
  try {
    const tree = parseDefinition(definition)
    const { statements, levels } = compileSegments([{ ordinal: 0, tree }])
    const made = [...statements, ...levels.flatMap((level) => [...level.statements, level.members])]
    return [compileOne(tree), ...made].map(({ text }) => text).join(';')
  } catch (error) {
    if (error instanceof Failure && error.code === 'bad_request') return null
    throw error
  }
}

const isFree = ({ type, oneOf }: Field) => ['string', 'email', 'tag'].includes(type) && !oneOf
const FREE = (Object.keys(SOURCES) as SourceName[]).flatMap((source) =>
  Object.entries(SOURCES[source].fields).flatMap(([field, row]) => (isFree(row) ? [{ source, field }] : [])),
)
const OPS: [op: string, of: (value: string) => unknown][] = [
  ['=', (value) => value],
  ['!=', (value) => value],
  ['contains', (value) => value],
  ['in', (value) => [value, 'b']],
  ['notIn', (value) => [value, 'b']],
]

/** Places where a text may stand in a definition; those that only names may stand in refuse it. */
const PLACES: Record<string, (text: string, n: number) => object> = {
  ...Object.fromEntries(
    OPS.map(([op, of]) => [
      op,
      (text, n) => {
        const { source, field } = FREE[n % FREE.length] as (typeof FREE)[number]
        return { source, rule: where(field, op, of(text)) }
      },
    ]),
  ),
  'in where': (text, n) => ({
    source: 'commerce_orders',
    rule: {
      op: 'count-over-window',
      where: [where(n % 2 ? 'sku' : 'currency_code', 'startsWith', text), where('discount_code', '!=', text)],
    },
  }),
  'several values': (text) => ({
    source: 'product_events',
    rule: { any: ['a', 'b', text].map((one) => where('product_id', '=', one)) },
  }),
  'property value': (text) => ({
    source: 'customer_attributes',
    rule: { all: [where('attributes.size', '=', text), where('attributes.size', 'contains', text)] },
  }),
  'property name': (text) => ({
    source: 'customer_attributes',
    rule: { any: [where(`attributes.x${text}`, '>', 1), { field: `attributes.x${text}`, op: 'missing' }] },
  }),
}
const NAMES: Record<string, (text: string) => object> = {
  field: (text) => ({ source: 'customer_profile', rule: where(text, '=', 1) }),
  operator: (text) => ({ source: 'customer_profile', rule: where('total_spend', text, 1) }),
  source: (text) => ({ source: text, rule: where('total_spend', '=', 1) }),
  number: (text) => ({ source: 'customer_profile', rule: where('total_spend', '=', `x${text}`) }),
  time: (text) => ({ source: 'customer_profile', rule: where('created_at', 'before', text) }),
  'one of few': (text) => ({ source: 'commerce_orders', rule: where('state', '=', text) }),
  aggregate: (text) => ({ source: 'commerce_orders', rule: { agg: text, ...where('total', '>', 1) } }),
  times: (text) => ({
    source: 'commerce_orders',
    rule: { op: 'count-over-window', times: { op: text, n: 1 } },
  }),
  days: (text) => ({ source: 'commerce_orders', rule: { op: 'count-over-window', window: { days: text } } }),
  segment: (text) => ({
    source: 'customer_profile',
    rule: { op: 'member-of-segment', segmentId: text },
  }),
  key: (text) => ({ source: 'customer_profile', rule: { ...where('total_spend', '=', 1), [text]: 1 } }),
}

t.test(`${VALUES} hostile texts in every place leave the statements that run as they are`, (t) => {
  const random = randomSource(t)
  const texts = Array.from({ length: VALUES }, (_, n) =>
    n < HOSTILE.length ? (HOSTILE[n] as string) : random.list(1, 4, () => random.pick(PIECES)).join(''),
  )
  for (const [place, definition] of Object.entries(PLACES)) {
    const shapes = new Set(FREE.map((_, n) => shape(definition('harmless', n))))
    const others = texts.filter((text, n) => {
      const found = shape(definition(text, n))
      return found !== null && !shapes.has(found)
    })
    const refused = texts.filter((text, n) => shape(definition(text, n)) === null)
    t.same(others, [], place)
    t.ok(
      refused.every((text) => /[\u0000]/.test(text) || !text.isWellFormed() || text.trim() === ''),
      `${place}: only what cannot be stored is refused`,
    )
  }
  for (const [place, definition] of Object.entries(NAMES))
    t.same(
      texts.filter((text) => shape(definition(text)) !== null),
      [],
      `${place}: all are refused`,
    )
  t.end()
})

t.test(`${VALUES} hostile texts are no way to sort`, (t) => {
  const random = randomSource(t)
  const sorts = ['itemId.keyword', 'properties.firstVisit', 'properties.lastVisit']
  const texts = Array.from({ length: VALUES }, () => random.list(1, 4, () => random.pick(PIECES)).join(''))
  const sent = texts.map((text, n) =>
    random.pick([text, `${sorts[n % 3]}${text}`, `${sorts[n % 3]}:${text}`]),
  )
  t.same(
    sent.filter((sort) => v.is(sorting, sort)),
    [],
  )
  for (const sort of sorts) t.ok(v.is(sorting, `${sort}:desc`), sort)
  t.end()
})

t.test('numbers of any size leave the statements that run as they are', (t) => {
  const shapes = (values: unknown[]) =>
    new Set(
      values.flatMap((value) =>
        ['<', '<=', '>', '>='].map((op) =>
          shape({ source: 'customer_profile', rule: where('total_spend', op, value) }),
        ),
      ),
    )
  const huge = [1e308, -1e308, 5e-324, '9'.repeat(100), `-${'9'.repeat(100)}`, `0.${'3'.repeat(100)}`, -0]
  t.same(
    [...shapes(huge)].filter((each) => !shapes([1]).has(each)),
    [],
  )
  t.end()
})

t.test('SQL that is shown has hostile texts as texts', async (t) => {
  const connection = await openStore(t, storeOf({ customers: [{ customer: 0, phone: '+1' }] }))
  for (const { source, field } of FREE) {
    const rules = HOSTILE.map((value) => ({
      any: [where(field, '=', value), where(field, 'in', [value, 'b'])],
    }))
    for (const [n, rule] of rules.entries())
      t.same(
        await customers(connection, displayOne(parseDefinition({ source, rule }))),
        [],
        `${source}.${field} ${n}`,
      )
  }
})

t.test('text that is hostile is found as it is, shown SQL included', async (t) => {
  const store = storeOf({
    customers: HOSTILE.map((phone, customer) => ({ customer, phone, tags: [phone] })),
    stg_orders: HOSTILE.map((code, customer) => ({
      customer,
      order_id: String(customer),
      created_at: AS_OF - DAY,
      discount_codes: [code],
    })),
    stg_customer_attributes: HOSTILE.map((name, customer) => ({
      ...{ customer, name, kind: 'string', value: name, elements: [name] },
    })),
  })
  const connection = await openStore(t, store)
  const definitions: Sent[] = HOSTILE.flatMap((value) => [
    { source: 'customer_profile', rule: where('phone', '=', value) },
    { source: 'commerce_orders', rule: where('discount_code', 'startsWith', value) },
    { source: 'customer_attributes', rule: where('tags', 'contains', value) },
    { source: 'customer_attributes', rule: where(`attributes.${value}`, '=', value) },
  ])
  t.ok((await agree(t, connection, store, definitions)).every((members) => members.length > 0))
})

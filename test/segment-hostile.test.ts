import t from 'tap'
import * as v from 'valibot'
import { Failure } from '../src/errors.ts'
import { PROFILES } from '../src/ops/cdp-fields.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { memberRows } from '../src/segment/dialect/duckdb/member-columns.ts'
import { compileOne, compileSegments, displayOne } from '../src/segment/plan.ts'
import { agree, customers, type Sent } from './fixtures/evaluators.ts'
import { FREE, HOSTILE, hostileTexts, NAMES, PLACES, where } from './fixtures/hostile-definitions.ts'
import { DAY } from './fixtures/oracle-rows.ts'
import { randomSource } from './fixtures/random.ts'
import { openStore, storeOf } from './fixtures/segment-store.ts'
import { AS_OF } from './fixtures/segment-values.ts'

const VALUES = 5_000

/** All text that runs for a definition; null when it is refused as it should be. */
function shape(definition: object): string | null {
  try {
    const tree = parseDefinition(definition)
    const { statements, levels } = compileSegments([{ ordinal: 0, tree }], new Date(AS_OF))
    const made = [compileOne(tree), ...statements, ...levels.flatMap((level) => level.statements)]
    const members = levels.map((level) => memberRows(level.members))
    return [...made.map(({ text }) => text), ...members].join(';')
  } catch (error) {
    if (error instanceof Failure && error.code === 'bad_request') return null
    throw error
  }
}

t.test(`${VALUES} hostile texts in every place leave the statements that run as they are`, (t) => {
  const random = randomSource(t)
  const texts = hostileTexts(random, VALUES)
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
  const texts = hostileTexts(random, VALUES)
  const sent = texts.map((text, n) =>
    random.pick([text, `${sorts[n % 3]}${text}`, `${sorts[n % 3]}:${text}`]),
  )
  t.same(
    sent.filter((sort) => v.is(PROFILES.schema, sort)),
    [],
  )
  for (const sort of sorts) t.ok(v.is(PROFILES.schema, `${sort}:desc`), sort)
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

import t from 'tap'
import {
  customersThatHold,
  type Filter,
  factsHold,
  readFilters,
  savedFilters,
} from '../src/campaign/filter.ts'
import { customStart } from '../src/campaign/start.ts'
import type { Fact } from '../src/campaign/trigger.ts'
import { parseWithTexts } from '../src/event/exact.ts'
import type { Reader } from '../src/op.ts'
import { SOURCES, type SourceName } from '../src/segment/catalog.ts'
import { oracle } from './fixtures/oracle.ts'
import type { Cell, Row } from './fixtures/oracle-rows.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { randomComparison } from './fixtures/random-definition.ts'
import { openStore, randomStore } from './fixtures/segment-store.ts'
import { AS_OF } from './fixtures/segment-values.ts'

const CUSTOMERS = 40
const ROUNDS = 60

type Rule = Record<string, unknown>
const asFilter = (source: string, { field, op, value }: Rule): Filter => ({
  field: `${source}.${field}`,
  operator: String(op),
  ...(value === undefined ? {} : { value }),
})

/** One to three comparisons, as a rule and as filters. */
function randomFilters(random: RandomSource): { rule: Rule; filters: Filter[] } {
  const names = Object.keys(SOURCES) as SourceName[]
  const made = random.list(1, 3, () => {
    const source = random.pick(names)
    return { source, comparison: randomComparison(random, source) }
  })
  return {
    rule: { all: made.map(({ source, comparison }) => ({ source, ...comparison })) },
    filters: made.map(({ source, comparison }) => asFilter(source, comparison)),
  }
}

t.test(
  'filters on customers hold for the members of the same rule, of those who are asked for',
  async (t) => {
    const random = randomSource(t)
    const store = randomStore(random, CUSTOMERS)
    const connection = await openStore(t, store)
    const sources: Reader = {
      generation: 0,
      rows: async (statement, values) =>
        (await connection.runAndReadAll(statement, values as never)).getRowObjectsJS() as never,
    }
    let members = 0
    for (let round = 0; round < ROUNDS; round++) {
      const { rule, filters } = randomFilters(random)
      const asked = Array.from({ length: CUSTOMERS }, (_, customer) => customer).filter(() =>
        random.chance(0.7),
      )
      const wanted = oracle({ source: 'customer_profile', rule }, store).filter((one) => asked.includes(one))
      const found = await customersThatHold(readFilters(filters, {}), sources, asked)
      t.same(
        [...found].sort((a, b) => a - b),
        wanted,
        JSON.stringify(filters),
      )
      members += wanted.length
    }
    t.ok(members > ROUNDS, `${members} in all`)
    t.same(await customersThatHold(readFilters([], {}), sources, [3, 4]), new Set([3, 4]))
    t.same(await customersThatHold(readFilters([], {}), sources, []), new Set())
  },
)

t.test('attributes are read once, however many filters look at them', async (t) => {
  const connection = await openStore(t, randomStore(randomSource(t), CUSTOMERS))
  const plans: string[] = []
  const explaining: Reader = {
    generation: 0,
    rows: async (statement, values) => {
      const plan = await connection.runAndReadAll(`explain (format json) ${statement}`, values as never)
      plans.push(...plan.getRows().map(String))
      return []
    },
  }
  const filters = Array.from({ length: 50 }, (_, n) => ({
    field: `customer_attributes.attributes.p${n}`,
    operator: '>=',
    value: n,
  }))
  await customersThatHold(readFilters(filters, {}), explaining, [3, 4])
  t.equal(plans.join().match(/main\.stg_customer_attributes/g)?.length, 1)
})

/** Facts of the same types as these fields of customers. */
const FACTS: Readonly<Record<string, Fact>> = {
  total_spend: { type: 'money', help: '' },
  orders_count: { type: 'number', help: '' },
  first_order_at: { type: 'time', help: '' },
  email: { type: 'email', help: '' },
  phone: { type: 'string', help: '' },
}

t.test('filters on what a trigger carried mean what rules mean', async (t) => {
  const random = randomSource(t)
  const store = randomStore(random, 200)
  const customers = (store.tables.customers ?? []).map((row): Row => ({ ...row, store_customer_id: 'known' }))
  store.tables.customers = customers
  const carried = (name: string, cell: Cell) =>
    cell !== null && FACTS[name]?.type === 'time' ? new Date(Number(cell)).toISOString() : cell
  let holding = 0
  for (let round = 0; round < 200; round++) {
    const comparison = randomComparison(
      random,
      'customer_profile',
      undefined,
      random.pick(Object.keys(FACTS)),
    )
    const filters = readFilters([asFilter('event', comparison)], FACTS)
    const found = customers.filter((row) => {
      const facts = Object.fromEntries(
        Object.keys(FACTS).map((name) => [name, carried(name, row[name] ?? null)]),
      )
      return factsHold(filters, facts, new Date(AS_OF))
    })
    const ordinals = found.map(({ customer }) => Number(customer))
    t.same(
      ordinals,
      oracle({ source: 'customer_profile', rule: comparison }, store),
      JSON.stringify(comparison),
    )
    holding += found.length
  }
  t.ok(holding > 200, `${holding} in all`)
})

t.test('a fact of items holds when one of them has it', async (t) => {
  const facts = { sku: { type: 'string', each: true, help: '' } } as const
  const holds = (operator: string, value: unknown, carried: object) =>
    factsHold(
      readFilters([{ field: 'event.sku', operator, value }], facts),
      carried as Record<string, unknown>,
      new Date(),
    )
  const items = { items: [{ sku: 'A' }, { sku: 'B' }, null, {}] }
  t.ok(holds('=', 'B', items))
  t.ok(holds('in', ['C', 'A'], items))
  t.notOk(holds('=', 'C', items))
  t.notOk(holds('!=', 'A', items))
  t.ok(holds('!=', 'C', items))
  t.ok(holds('contains', 'x', { sku: ['xy'] }))
  t.notOk(holds('=', 'A', {}))
  t.ok(holds('!=', 'A', { items: 'none' }))
})

t.test('what a trigger carried may be anything', async (t) => {
  const facts = {
    total: { type: 'money', help: '' },
    at: { type: 'time', help: '' },
    on: { type: 'boolean', help: '' },
    score: { type: 'number', help: '' },
  } as const
  const holds = (field: string, operator: string, value: unknown, carried: unknown) =>
    factsHold(
      readFilters([{ field: `event.${field}`, operator, value }], facts),
      { [field]: carried },
      new Date(),
    )
  for (const odd of [{}, [], 'much', '', null, undefined, Number.NaN, true]) {
    t.notOk(holds('total', '>', 0, odd), String(odd))
    t.notOk(holds('at', 'after', '2020-01-01', odd), String(odd))
  }
  t.ok(holds('total', '>', '9.99', 10), 'a number')
  t.ok(holds('total', '=', '10', '10.00'))
  t.ok(holds('score', '>', 2.5, 2.6))
  t.notOk(holds('score', '>', 2.5, 2.4))
  t.ok(holds('on', '=', true, 'true'))
  t.ok(holds('at', 'before', '2026-01-01T00:00:00+01:00', '2025-12-31T22:59:59Z'))
})

t.test('saved filters are still read when their facts are gone, or are something else', async (t) => {
  const filters = [
    { field: 'event.points', operator: '>', value: 10 },
    { field: 'event.level', operator: 'startsWith', value: 'go' },
    { field: 'event.joined', operator: 'after', value: '2026-01-01T00:00:00Z' },
    { field: 'event.left', operator: 'missing' },
  ]
  const carried = { points: '11', level: 'gold', joined: '2026-02-01T00:00:00Z' }
  for (const facts of [
    {},
    { points: { type: 'boolean', help: '' }, level: { type: 'number', help: '' } },
  ] as Record<string, Fact>[]) {
    t.throws(() => readFilters(filters, facts))
    t.ok(factsHold(savedFilters(filters, facts), carried, new Date()))
    t.notOk(factsHold(savedFilters(filters, facts), { ...carried, points: 9 }, new Date()))
  }
})

const typesOf = (properties: object) => {
  const { facts } = customStart({
    ...{ type: 'ticket', name: 'Ticket', provider_id: '', identifier_mappings: {} },
    payload_schema: { properties },
  })
  return Object.fromEntries(Object.entries(facts).map(([name, { type }]) => [name, type]))
}

t.test('a payload carries what is plain by its schema, of several types as text', async (t) => {
  const properties = {
    ticket_id: { type: ['string', 'integer'] },
    points: { type: ['integer', 'number', 'null'] },
    level: { enum: ['gold', 'silver', null] },
    stars: { enum: [1, 2.5] },
    answer: { enum: ['yes', 1, true] },
    is_new: { const: true },
    only: { type: ['string', 'object'], enum: ['a', 'b'] },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
    score: { oneOf: [{ type: 'integer' }, { enum: [0.5] }] },
    bounded: { type: 'string', anyOf: [{ minLength: 1 }, { pattern: 'a' }] },
    closed_at: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
  }
  t.same(typesOf(properties), {
    ...{ ticket_id: 'string', points: 'number', level: 'string', stars: 'number', answer: 'string' },
    ...{ is_new: 'boolean', only: 'string', either: 'string', score: 'number', bounded: 'string' },
    closed_at: 'time',
  })
})

t.test('a payload carries nothing that may be other than plain, or that another schema says', async (t) => {
  const properties = {
    any: {},
    nothing: { type: 'null' },
    impossible: { type: 'string', enum: [1] },
    list: { type: ['string', 'array'] },
    one: { enum: ['a', { of: 'a' }] },
    some: { anyOf: [{ type: 'string' }, { type: 'object' }] },
    open: { oneOf: [{ type: 'string' }, {}] },
    other: { $ref: '#/$defs/other' },
    perhaps: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/other' }] },
  }
  t.same(typesOf(properties), {})
})

t.test('a number where a fact is text is compared by its decimal text', async (t) => {
  const facts = { ticket_id: { type: 'string', help: '' } } as const
  const holds = (value: string, carried: unknown) =>
    factsHold(
      readFilters([{ field: 'event.ticket_id', operator: '=', value }], facts),
      { ticket_id: carried },
      new Date(),
    )
  t.ok(holds('4711', 4711))
  t.ok(holds('0.0000001', 0.0000001))
  const { ticket_id } = parseWithTexts('{"ticket_id":9007199254740993}') as { ticket_id: unknown }
  t.ok(holds('9007199254740993', ticket_id))
})

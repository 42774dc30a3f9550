import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { Failure } from '../src/errors.ts'
import { loadModels } from '../src/model/graph.ts'
import { COMPARISONS, VALUE_PARAMETERS } from '../src/segment/comparison.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { compileCount, compileOne } from '../src/segment/plan.ts'
import { PROPERTIES } from '../src/segment/property.ts'
import { definitionOf, readVocabulary } from '../src/segment/vocabulary.ts'
import { describeVocabulary, ITEM_TYPES, type ItemType } from '../src/segment/vocabulary-table.ts'
import { withModels } from './fixtures/model-case.ts'
import { randomSource } from './fixtures/random.ts'

/** The condition vocabulary of the customer-data host. */
const models = await loadModels()
const AS_OF = '2026-01-01'

const all = { type: 'matchAllCondition' }
const not = (subCondition: object) => ({ type: 'notCondition', parameterValues: { subCondition } })
const group = (operator: string, ...subConditions: object[]) => ({
  type: 'booleanCondition',
  parameterValues: { operator, subConditions },
})
const property =
  (type: string, prefix: string) =>
  (name: string, comparisonOperator: string, values: object = {}) => ({
    type,
    parameterValues: { propertyName: prefix + name, comparisonOperator, ...values },
  })
const profile = property('profilePropertyCondition', 'properties.')
const session = property('sessionPropertyCondition', '')
const event = (eventTypeId: string) => ({ type: 'eventTypeCondition', parameterValues: { eventTypeId } })
const past = (eventCondition: object, more: object = {}) => ({
  type: 'pastEventCondition',
  parameterValues: { eventCondition, ...more },
})
const nested = (levels: number, condition: object): object =>
  levels === 0 ? condition : not(nested(levels - 1, condition))
const EVERY_BOUND = {
  ...{ fromDate: '2025-01-01', toDate: '2025-12-31', numberOfDays: 300 },
  ...{ minimumEventCount: 2, maximumEventCount: 5 },
}
const of = (propertyValue: unknown) => ({ propertyValue })
const list = (...propertyValues: unknown[]) => ({ propertyValues })

/**
 * 1: Ada, known, 3 views and an attribute; 2: Bob, known, one view of long ago; 3: a visitor with a phone's page view; 4:
 * nobody in particular, without events. e9 is of nobody.
 */
const DATA = [
  `insert into customers_source (subject, customer_id, email, first_name, tags, provenance, store_customer_id, created_at) values
    (1, 'a', 'ada@example.com', 'Ada', ['vip', 'b2b'], 'server', '42', '2025-01-01'),
    (2, 'b', 'bob@example.com', null, [], 'server', null, '2025-06-01'),
    (3, 'v', null, null, null, 'pixel', null, '2025-12-01'),
    (4, 'd', null, null, null, 'pixel', null, '2025-12-01')`,
  `insert into events (event_id, subject, event_type, occurred_at, session_id, path, utm_source, properties) values
    ('e1', 1, 'product_viewed', '2025-12-31', 's1', '/a', 'ads', '{"device": "mobile"}'),
    ('e2', 1, 'product_viewed', '2025-12-30', 's2', '/b', null, '{}'),
    ('e3', 1, 'product_viewed', '2025-12-01', null, '/c', null, '{}'),
    ('e4', 2, 'product_viewed', '2022-06-01', null, null, null, '{}'),
    ('e5', 3, 'page_viewed', '2025-12-02', 's3', '/a', 'ads', '{}'),
    ('e6', 1, 'updateProperties', '2025-12-02', null, null, null,
      '{"plan": "gold", "seats": 3, "beta": true, "credit": "9999999999999999.98", "colours": ["red", "blue"], "sizes": [41, 42.5], "renews": "2026-03-01"}'),
    ('e7', 3, 'updateProperties', '2025-12-02', null, null, null, '{"plan": "free", "seats": 12.5, "x''y": "z"}'),
    ('e9', null, 'page_viewed', '2025-12-02', 's9', '/a', null, '{}')`,
  `insert into orders_source (order_id, subject, state, currency_code, total, created_at) values
    ('o1', 1, 'complete', 'USD', 100, '2025-03-01'), ('o2', 1, 'complete', 'USD', 50, '2025-04-01')`,
]

/** [what is asked, profiles, events]; null: not a condition of these. */
const COUNTS: readonly [condition: object, profiles: number | null, events: number | null][] = [
  [all, 4, 8],
  [not(all), 0, 0],
  [profile('email', 'exists'), 2, 5],
  [profile('email', 'missing'), 2, 3],
  [profile('email', 'equals', of(' ADA@example.com ')), 1, 4],
  [profile('email', 'notEquals', of('ada@example.com')), 3, 4],
  [profile('email', 'contains', of('@example')), 2, 5],
  [profile('email', 'notContains', of('ada')), 3, 4],
  [profile('email', 'startsWith', of('bob')), 1, 1],
  [profile('email', 'in', list('ada@example.com', 'x')), 1, 4],
  [profile('email', 'notIn', list('ada@example.com', 'x')), 3, 4],
  [profile('tags', 'in', list('vip', 'x')), 1, 4],
  [profile('tags', 'notIn', list('vip')), 3, 4],
  [profile('tags', 'contains', of('b2b')), 1, 4],
  [profile('totalSpend', 'greaterThan', of(149.99)), 1, 4],
  [profile('totalSpend', 'between', { propertyValuesDouble: ['150.00', 150] }), 1, 4],
  [profile('ordersCount', 'equals', { propertyValueInteger: 2 }), 1, 4],
  [profile('ordersCount', 'lessThanOrEqualTo', { propertyValueInteger: 0 }), 3, 3],
  [profile('firstVisit', 'after', { propertyValueDate: '2025-06-01T00:00:00Z' }), 2, 2],
  [profile('firstVisit', 'greaterThanOrEqualTo', of('2025-06-01')), 3, 3],
  [profile('lastOrderAt', 'withinLast', of({ days: 300 })), 1, 4],
  [property('profilePropertyCondition', '')('provenance', 'equals', of('pixel')), 2, 2],
  [property('profilePropertyCondition', '')('itemId', 'equals', of('v')), 1, 2],
  [profile('plan', 'equals', of('gold')), 1, 4],
  [profile('plan', 'notEquals', of('gold')), 3, 4],
  [profile('plan', 'exists'), 2, 6],
  [profile('plan', 'missing'), 2, 2],
  [profile('plan', 'in', list('gold', 'free')), 2, 6],
  [profile('seats', 'greaterThan', of(3)), 1, 2],
  [profile('seats', 'equals', { propertyValueDouble: '12.5' }), 1, 2],
  [profile('seats', 'between', { propertyValues: [3, 12.5] }), 2, 6],
  [profile('beta', 'equals', of(true)), 1, 4],
  [profile('colours', 'contains', of('red')), 1, 4],
  [profile('plan', 'contains', of('ol')), 1, 4],
  [profile('colours', 'in', list('blue')), 1, 4],
  [profile('sizes', 'in', { propertyValuesInteger: [41, 43] }), 1, 4],
  [profile('sizes', 'greaterThan', { propertyValueDouble: '42.5' }), 0, 0],
  [profile('renews', 'after', of('2026-02-28')), 1, 4],
  [profile('renews', 'before', { propertyValueDate: '2026-02-28' }), 0, 0],
  [profile("x'y", 'equals', of('z')), 1, 2],
  [session('utm.source', 'equals', of('ads')), 2, 2],
  [session('utm.source', 'notEquals', of('ads')), 2, 6],
  [session('device', 'exists'), 1, 1],
  [session('entryPath', 'in', list('/b', '/c')), 1, 2],
  [session('events', 'greaterThanOrEqualTo', of(2)), 0, 0],
  [event('product_viewed'), 1, 4],
  [event('page_viewed'), 1, 2],
  [not(event('page_viewed')), 3, 6],
  [group('or', event('page_viewed'), event('product_viewed')), 2, 6],
  [group('and', event('page_viewed'), profile('plan', 'exists')), 1, 1],
  [group('and', event('product_viewed'), session('utm.source', 'equals', of('ads'))), 1, 1],
  [not(group('or', event('page_viewed'), profile('email', 'exists'))), 1, 1],
  [past(event('product_viewed')), 1, null],
  [past(event('product_viewed'), { numberOfDays: 2 }), 1, null],
  [past(event('product_viewed'), { numberOfDays: 10, minimumEventCount: 3 }), 0, null],
  [past(event('product_viewed'), { minimumEventCount: 3, maximumEventCount: 3 }), 1, null],
  [past(event('product_viewed'), { minimumEventCount: 0, maximumEventCount: 0 }), 3, null],
  [past(event('product_viewed'), { operator: 'eventsNotOccurred' }), 3, null],
  [past(event('product_viewed'), { fromDate: '2025-12-30', toDate: '2025-12-30T12:00:00Z' }), 1, null],
  [past(all, { minimumEventCount: 2 }), 2, null],
  [past(group('or', event('page_viewed'), event('updateProperties'))), 2, null],
  [past(group('and', all, not(event('page_viewed'))), { minimumEventCount: 2 }), 1, null],
]

const sqlOf = (condition: object, item: ItemType) => compileCount(readVocabulary(condition, item).tree, item)

const counted = async (connection: DuckDBConnection, condition: object, item: ItemType): Promise<number> => {
  const { text, values } = sqlOf(condition, item)
  return Number((await connection.runAndReadAll(text, values)).getRowsJson()[0]?.[0])
}

t.test('counts', async (t) => {
  await withModels(models, { as_of: AS_OF }, async (connection) => {
    for (const statement of DATA) await connection.run(statement)
    for (const [condition, profiles, events] of COUNTS) {
      const title = JSON.stringify(condition)
      if (profiles !== null) t.equal(await counted(connection, condition, 'profile'), profiles, title)
      if (events !== null) t.equal(await counted(connection, condition, 'event'), events, title)
      else t.throws(() => readVocabulary(condition, 'event'), { code: 'bad_request' }, title)
    }
    for (const item of ITEM_TYPES) {
      const every = await counted(connection, all, item)
      for (const [condition, ...both] of COUNTS) {
        if (both[ITEM_TYPES.indexOf(item)] === null) continue
        const [yes, no] = [
          await counted(connection, condition, item),
          await counted(connection, not(condition), item),
        ]
        t.equal(yes + no, every, `not is the complement over each ${item}: ${JSON.stringify(condition)}`)
      }
    }
  })
})

t.test('an event that names no session is of the visit of its own browser', async (t) => {
  await withModels(models, { as_of: AS_OF }, async (connection) => {
    await connection.run(`
      insert into customers_source (subject, customer_id, provenance, created_at) values (1, 'a', 'server', '2025-01-01');
      insert into subject_redirect (subject, customer) values (2, 1);
      insert into events (event_id, subject, event_type, occurred_at, path, utm_source, properties) values
        ('e1', 1, 'page_viewed', '2025-12-31 10:00', '/a', 'ads', '{}'),
        ('e2', 2, 'page_viewed', '2025-12-31 10:10', '/b', null, '{}'),
        ('e3', 1, 'page_viewed', '2025-12-31 10:20', '/c', null, '{}')`)
    t.equal(await counted(connection, session('utm.source', 'equals', of('ads')), 'event'), 2)
    t.equal(await counted(connection, session('utm.source', 'missing'), 'event'), 1)
    t.equal(await counted(connection, session('events', 'equals', of(2)), 'event'), 2)
  })
})

t.test('a segment has the profiles that the condition counts, of those that can be members', async (t) => {
  const can = [
    all,
    profile('plan', 'equals', of('gold')),
    profile('plan', 'notIn', list('gold')),
    profile('seats', 'greaterThan', { propertyValueDouble: '2.5' }),
    profile('credit', 'lessThan', { propertyValueDouble: '9999999999999999.99' }),
    profile('credit', 'between', { propertyValuesDouble: ['9999999999999999.98', '9999999999999999.99'] }),
    profile('credit', 'equals', { propertyValueDouble: '9999999999999999.99' }),
    profile('credit', 'in', { propertyValuesDouble: ['+09999999999999999.990', '1'] }),
    profile('beta', 'missing'),
    profile('beta', 'equals', of(true)),
    profile('renews', 'after', of('2026-01-01')),
    profile('tags', 'in', list('vip')),
    profile('email', 'exists'),
    profile('email', 'notContains', of('ada')),
    not(profile('totalSpend', 'greaterThan', of('149.99'))),
    profile('ordersCount', 'between', { propertyValuesInteger: [1, 2] }),
    profile('firstVisit', 'after', { propertyValueDate: '2025-05-31' }),
    event('product_viewed'),
    past(event('product_viewed'), { numberOfDays: 2, minimumEventCount: 1, maximumEventCount: 1 }),
    past(group('or', event('product_viewed'), event('product_added_to_cart')), { minimumEventCount: 3 }),
    past(event('product_viewed'), { fromDate: '2025-12-30', operator: 'eventsNotOccurred' }),
    past(event('product_viewed'), { fromDate: '2025-12-30', toDate: '2025-12-30' }),
    past(event('product_viewed'), { fromDate: '2025-12-29', toDate: '2025-12-30', minimumEventCount: 0 }),
    past(event('product_viewed'), { minimumEventCount: 0, maximumEventCount: 2 }),
    past(event('product_viewed'), { minimumEventCount: 2, maximumEventCount: 3 }),
    past(event('product_viewed'), {
      ...{ minimumEventCount: 0, maximumEventCount: 2, operator: 'eventsNotOccurred' },
    }),
    past(event('product_viewed'), {
      ...{ minimumEventCount: 2, maximumEventCount: 2, operator: 'eventsNotOccurred' },
    }),
    group('or', profile('email', 'missing'), group('and', event('product_viewed'), not(all))),
  ]
  await withModels(models, { as_of: AS_OF }, async (connection) => {
    await connection.run(readFileSync(join(CHECKOUT, 'test/fixtures/random-store.sql'), 'utf8'))
    await connection.run(
      `update customers_source set email = customer_id || '@example.com' where subject % 2 = 0`,
    )
    for (const statement of DATA.map((text) =>
      text.replaceAll(/\((\d), '/g, "(90$1, '9").replaceAll(/'(e\d)', (\d|null)/g, "'x$1', $2"),
    ))
      await connection.run(statement)
    for (const condition of can) {
      const { text, values } = compileOne(parseDefinition(definitionOf(condition)))
      const members = await connection.runAndReadAll(`select count(*) from (${text})`, values)
      const reachable = group('or', profile('email', 'exists'), profile('storeCustomerId', 'exists'))
      t.equal(
        Number(members.getRowsJson()[0]?.[0]),
        await counted(connection, group('and', reachable, condition), 'profile'),
        JSON.stringify(condition),
      )
    }
  })
})

t.test('a segment cannot be made of', async (t) => {
  const refused: [condition: object, message: RegExp][] = [
    [
      profile('city', 'exists'),
      /^condition\.parameterValues\.propertyName: Geography is not supported in rules/,
    ],
    [
      profile('smsMarketingConsent', 'exists'),
      /^condition\.parameterValues\.propertyName: Consent is not supported in rules/,
    ],
    [
      profile('renews', 'equals', { propertyValueDate: '2026-01-01' }),
      /^condition\.parameterValues\.propertyValueDate: rules compare this as text/,
    ],
    [
      session('utm.source', 'exists'),
      /^condition\.parameterValues\.propertyName: segments cannot be made of utm\.source/,
    ],
    [
      profile('firstName', 'exists'),
      /^condition\.parameterValues\.propertyName: segments cannot be made of properties\.firstName/,
    ],
    [
      not(event('page_viewed')),
      /^condition\.parameterValues\.subCondition\.parameterValues\.eventTypeId: .*page_viewed/,
    ],
    [
      profile('Phone', 'exists'),
      /^condition\.parameterValues\.propertyName: segments cannot be made of properties\.Phone, only counts/,
    ],
    [
      profile('x'.repeat(990), 'exists'),
      /^condition\.parameterValues\.propertyName: must have at most 1000 characters, not 1001/,
    ],
    [
      group('and', ...Array(30).fill(past(event('product_viewed'), EVERY_BOUND))),
      /^condition\.parameterValues\.subConditions\[25\]: a segment may have 100 conditions in all, of which this one takes 4/,
    ],
    [
      nested(8, profile('email', 'notContains', of('x'))),
      /^condition(\.parameterValues\.subCondition){8}: conditions of a segment may be nested 8 deep, and this one takes 1 more$/,
    ],
    [
      past(not(event('product_viewed'))),
      /^condition\.parameterValues\.eventCondition: segments can be made of events of/,
    ],
  ]
  for (const [condition, message] of refused) {
    readVocabulary(condition, 'profile')
    t.throws(() => definitionOf(condition), { code: 'bad_request', message }, String(message))
  }
})

t.test('there is room in a segment for conditions as deep and as many as are counted', (t) => {
  for (const condition of [
    nested(8, past(event('product_viewed'), EVERY_BOUND)),
    nested(8, past(event('product_viewed'), { operator: 'eventsNotOccurred' })),
    group('and', ...Array(100).fill(event('product_viewed'))),
    group('or', ...Array(25).fill(past(event('product_viewed'), EVERY_BOUND))),
  ])
    t.ok(parseDefinition(definitionOf(condition)))
  t.end()
})

t.test('what is counted makes a segment, or is refused with its path', async (t) => {
  const random = randomSource(t)
  const leaf = () =>
    random.pick([
      () => all,
      () => event('product_viewed'),
      () => profile(random.pick(['plan', 'Email', 'city', 'x'.repeat(995)]), 'exists'),
      () => profile('email', 'notContains', of('x')),
      () =>
        past(event(random.pick(['product_viewed', 'page_viewed'])), {
          ...(random.chance(0.5) && { operator: 'eventsNotOccurred' }),
          ...(random.chance(0.5) && { fromDate: '2025-12-01' }),
          ...(random.chance(0.5) && { toDate: '2025-11-01' }),
          ...(random.chance(0.5) && { minimumEventCount: random.below(3) }),
          ...(random.chance(0.5) && { maximumEventCount: 3 }),
        }),
    ])()
  const some = (levels: number): object => {
    if (levels === 0) return leaf()
    return random.chance(0.5)
      ? not(some(levels - 1))
      : group(random.pick(['and', 'or']), some(levels - 1), ...random.list(0, random.pick([2, 20]), leaf))
  }
  const answers = { defined: 0, refused: 0 }
  for (let n = 0; n < 300; n++) {
    const condition = some(random.below(9))
    const accepted = attempt(() => readVocabulary(condition, 'profile'))
    const defined = accepted instanceof Error ? accepted : attempt(() => definitionOf(condition))
    const refused = defined instanceof Error ? defined : attempt(() => parseDefinition(defined))
    if (refused instanceof Error && !t.match(refused.message, /^condition/)) return
    answers[refused instanceof Error ? 'refused' : 'defined']++
  }
  t.ok(Math.min(answers.defined, answers.refused) >= 50, JSON.stringify(answers))
})

const attempt = <T>(work: () => T): T | Error => {
  try {
    return work()
  } catch (error) {
    return error as Error
  }
}

t.test('what is wrong is refused with its path', async (t) => {
  const deep = (levels: number) => nested(levels, all)
  const P = 'condition.parameterValues'
  const wrong: [condition: unknown, message: string][] = [
    [null, 'condition: must be an object'],
    [[], 'condition: must be an object'],
    [{ type: 'matchAllCondition', parameterValues: [] }, `${P}: must be an object, not an empty list`],
    [{}, 'condition.type: is required'],
    [{ type: 'sessionCondition' }, 'condition.type: "sessionCondition" is not a condition type'],
    [{ type: 'constructor' }, 'condition.type: "constructor" is not a condition type'],
    [{ ...all, extra: 1 }, 'condition.extra: "extra" is not a key here'],
    [{ ...all, scope: 'x' }, 'condition.scope: cannot be used in conditions'],
    [{ ...all, parameterValues: { scope: 'x' } }, `${P}.scope: cannot be used`],
    [{ ...all, parameterValues: { a: 1 } }, `${P}: must be empty`],
    [profile('email', 'exists', { shopDomain: 'x' }), `${P}.shopDomain: cannot be used`],
    [profile('scope', 'exists'), `${P}.propertyName: cannot be used`],
    [profile('shopDomain', 'equals', of('x')), `${P}.propertyName: cannot be used`],
    [session('scope', 'equals', of('x')), `${P}.propertyName: cannot be used`],
    [property('profilePropertyCondition', '')('source.scope', 'exists'), `${P}.propertyName: cannot be used`],
    [
      property('profilePropertyCondition', '')('properties.shopDomain.keyword', 'exists'),
      `${P}.propertyName: cannot be used`,
    ],
    [
      property('profilePropertyCondition', '')('email', 'exists'),
      `${P}.propertyName: "email" is not a property of profiles`,
    ],
    [profile('', 'exists'), `${P}.propertyName: "properties." is not a property`],
    [
      session('utm.sauce', 'exists'),
      `${P}.propertyName: "utm.sauce" is not a property of sessions. Did you mean "utm.source"?`,
    ],
    [
      profile('email', 'matchesRegex', of('x')),
      `${P}.comparisonOperator: "matchesRegex" is not a comparison operator`,
    ],
    [
      { type: 'profilePropertyCondition' },
      `${P}.propertyName: is required. Known: properties.averageOrderValue, properties.email, `,
    ],
    [
      { type: 'sessionPropertyCondition' },
      `${P}.propertyName: is required. Known: device, durationSeconds, `,
    ],
    [
      { type: 'profilePropertyCondition', parameterValues: { propertyName: 'properties.email' } },
      `${P}.comparisonOperator: is required. Known: equals, greaterThan, `,
    ],
    [profile('email', 'equals'), `${P}.propertyValue: is required`],
    [profile('email', 'exists', of('x')), `${P}.propertyValue: exists takes no value`],
    [profile('email', 'equals', list('x')), `${P}.propertyValues: equals takes propertyValue or`],
    [profile('email', 'in', of('x')), `${P}.propertyValue: in takes propertyValues or`],
    [
      profile('email', 'equals', { propertyValue: 'x', propertyValueDate: 'y' }),
      `${P}.propertyValueDate: must not stand beside`,
    ],
    [
      profile('email', 'equals', { propertyValueInteger: 1 }),
      `${P}.propertyValueInteger: is for number and money`,
    ],
    [profile('email', 'greaterThan', of('x')), `${P}.comparisonOperator: greaterThan takes`],
    [
      profile('ordersCount', 'equals', { propertyValueInteger: 1.5 }),
      `${P}.propertyValueInteger: must be a whole number`,
    ],
    [
      profile('ordersCount', 'in', { propertyValuesInteger: [1, 'x'] }),
      `${P}.propertyValuesInteger[1]: must be a whole`,
    ],
    [profile('totalSpend', 'equals', of('1; drop')), `${P}.propertyValue: must be a number`],
    [profile('firstVisit', 'after', of('yesterday')), `${P}.propertyValue: must be an ISO 8601 time`],
    [profile('email', 'in', list(...Array(501).fill('x'))), `${P}.propertyValues: must have 1 to 500 values`],
    [group('xor', all), `${P}.operator: "xor" is not an operator here`],
    [group('and'), `${P}.subConditions: must be a list of at least one`],
    [group('and', event('1')), `${P}.subConditions[0].parameterValues.eventTypeId: must be a letter`],
    [{ type: 'notCondition' }, `${P}.subCondition: is required`],
    [past(profile('email', 'exists')), `${P}.eventCondition.type: profilePropertyCondition cannot stand in`],
    [past(event('a'), { numberOfDays: 1_096 }), `${P}.numberOfDays: must be an integer from 1 to 1095`],
    [
      past(event('a'), { minimumEventCount: 2, maximumEventCount: 1 }),
      `${P}.maximumEventCount: must not be less`,
    ],
    [
      past(event('a'), { maximumEventCount: 0 }),
      `${P}.maximumEventCount: must not be less than minimumEventCount, which is 1 unless given`,
    ],
    [
      past(event('a'), { fromDate: '2025-12-30T01:00+02:00', toDate: '2025-12-29T22:59:59Z' }),
      `${P}.toDate: must not be before fromDate, which is "2025-12-30T01:00+02:00"`,
    ],
    [
      property('profilePropertyCondition', '')('ordersCount', 'exists'),
      `${P}.propertyName: "ordersCount" is not a property of profiles. Did you mean "properties.ordersCount"?`,
    ],
    [past(event('a'), { fromDate: 1 }), `${P}.fromDate: must be an ISO 8601 time`],
    [past(event('a'), { operator: 'never' }), `${P}.operator: "never" is not an operator here`],
    [group('and', ...Array(101).fill(all)), `${P}.subConditions[100]: there may be 100 conditions in all`],
    [
      past(group('or', ...Array(100).fill(all))),
      `${P}.eventCondition.parameterValues.subConditions[99]: there may be 100`,
    ],
  ]
  for (const [condition, message] of wrong) {
    try {
      readVocabulary(condition, 'profile')
      t.fail(`taken: ${JSON.stringify(condition)}`)
    } catch (error) {
      t.ok(error instanceof Failure && error.code === 'bad_request')
      t.ok((error as Error).message.startsWith(message), `${(error as Error).message} begins with ${message}`)
    }
  }
  readVocabulary(deep(8), 'profile')
  t.throws(() => readVocabulary(deep(9), 'profile'), { message: /nested 8 deep$/ })
  t.throws(() => readVocabulary(deep(9), 'event'), { message: /nested 8 deep$/ })
  t.throws(() => readVocabulary(past(deep(9)), 'profile'), { message: /nested 8 deep$/ })
})

t.test('the catalog', async (t) => {
  t.test('has examples that are conditions', async (t) => {
    for (const { id, example, itemTypes } of describeVocabulary().conditions)
      for (const item of itemTypes) t.ok(readVocabulary(example, item), id)
  })
  t.test(
    'has properties that can be asked for with every operator of their type, in SQL that binds',
    async (t) => {
      const samples = { string: 'x', integer: 1, decimal: '1.50', date: '2026-01-01', boolean: true }
      await withModels(models, {}, async (connection) => {
        for (const { target, propertyName, type, field } of PROPERTIES) {
          const ask = property(
            target === 'profiles' ? 'profilePropertyCondition' : 'sessionPropertyCondition',
            '',
          )
          for (const { id, operator } of COMPARISONS.filter(({ operator }) =>
            operator.takes.includes(field.type),
          )) {
            const sample = samples[type]
            const value = {
              one: of(sample),
              part: of(sample),
              list: list(sample),
              pair: list(sample, sample),
              days: of({ days: 1 }),
              none: {},
            }
            for (const item of ITEM_TYPES)
              t.ok(
                await connection.prepare(sqlOf(ask(propertyName, id, value[operator.value]), item).text),
                `${propertyName} ${id}`,
              )
          }
        }
      })
    },
  )
  t.test('says of every value parameter what it takes', async (t) => {
    for (const [name, { many }] of Object.entries(VALUE_PARAMETERS))
      t.equal(many, name.startsWith('propertyValues'), name)
  })
})

function isRefused(condition: object, item: ItemType): boolean {
  try {
    readVocabulary(condition, item)
    return false
  } catch (error) {
    if (error instanceof Failure && error.code === 'bad_request') return true
    throw error
  }
}

t.test('no value of a caller becomes SQL text', async (t) => {
  const random = randomSource(t)
  const pieces = [
    "'",
    '"',
    '$1',
    '$2::VARCHAR',
    '--',
    '/*',
    '*/',
    ';',
    '\\',
    '%',
    ')',
    '(',
    '{',
    '}',
    ':',
    "' or 1=1 --",
    '\n',
    '\u2028',
    '💥',
    'select',
    '::json',
    '$.a',
    'é',
  ]
  const hostile = () => Array.from({ length: 1 + random.below(6) }, () => random.pick(pieces)).join('')
  const shape = (item: ItemType, condition: object) => sqlOf(condition, item).text
  const places: ((text: string) => object)[] = [
    (text) => profile('firstName', 'equals', of(text)),
    (text) => profile('email', 'startsWith', of(`a${text}`)),
    (text) => profile('lastName', 'in', list(text, 'other')),
    (text) => profile(`x${text}`, 'exists'),
    (text) => profile(`x${text}`, 'equals', of(text)),
    (text) => profile(`x${text}`, 'notIn', list(text)),
    (text) => session('referrer', 'contains', of(`a${text}`)),
    (text) => session('utm.source', 'equals', of(text)),
  ]
  const wrong: ((text: string) => object)[] = [
    (text) => profile('email', text),
    (text) => session(text, 'exists'),
    (text) => profile('totalSpend', 'equals', of(text)),
    (text) => profile('firstVisit', 'after', of(text)),
    (text) => event(text),
    (text) => group(text, all),
    (text) => ({ type: text }),
    (text) => past(all, { operator: text }),
  ]
  await withModels(models, {}, async (connection) => {
    for (let n = 0; n < 5_000; n++) {
      const text = hostile()
      const place = random.pick(places)
      const item = random.pick(ITEM_TYPES)
      if (shape(item, place(text)) !== shape(item, place('harmless'))) t.fail(JSON.stringify(place(text)))
      if (n % 50 === 0) t.equal(await counted(connection, place(text), item), 0)
      if (!isRefused(random.pick(wrong)(`${text};`), item)) t.fail(JSON.stringify(text))
    }
  })
})

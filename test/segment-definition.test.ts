import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { Failure } from '../src/errors.ts'
import { parseExactly } from '../src/event/exact.ts'
import { entriesOf } from '../src/http/json-schema.ts'
import { sizeProblem } from '../src/http/json-size.ts'
import { toolOf } from '../src/http/mcp/tool.ts'
import { segmentQuestionOps } from '../src/ops/segment-questions.ts'
import { segmentOps } from '../src/ops/segments.ts'
import { SOURCES } from '../src/segment/catalog.ts'
import { type Comparison, fit } from '../src/segment/decimal.ts'
import { parseDefinition, parseSaved } from '../src/segment/definition.ts'
import { catalogText, definitionSchema, describeCatalog } from '../src/segment/describe.ts'
import { AGGREGATES, OPERATORS } from '../src/segment/operators.ts'
import { conditionsOf } from '../src/segment/tree.ts'
import { readTime } from '../src/segment/value.ts'
import { conditionsInWords } from '../src/segment/words.ts'
import { segmentId } from './fixtures/evaluators.ts'
import { randomSource } from './fixtures/random.ts'
import { randomDefinition } from './fixtures/random-definition.ts'

type Json = Record<string, unknown>

const profile = (rule: unknown) => ({ source: 'customer_profile', rule })
const orders = (rule: unknown) => ({ source: 'commerce_orders', rule })
const attributes = (rule: unknown) => ({ source: 'customer_attributes', rule })
const spend = { field: 'total_spend', op: '>=', value: 1000 }

/** The message that a definition is refused with. */
function refusal(definition: unknown): string {
  try {
    parseDefinition(definition)
  } catch (error) {
    if (error instanceof Failure && error.code === 'bad_request') return error.message
    throw error
  }
  return 'accepted'
}

t.test('the example of every operator is a definition', async (t) => {
  for (const [op, { example }] of Object.entries(OPERATORS))
    t.equal(refusal(profile(example)), 'accepted', `${op}: ${JSON.stringify(example)}`)
})

t.test('an alias means what its operator means', async (t) => {
  for (const [op, { alias }] of Object.entries(OPERATORS)) {
    if (alias === undefined) continue
    const [named, aliased] = [op, alias].map((name) => parseDefinition(profile({ ...spend, op: name })))
    t.same(aliased, named, alias)
  }
})

t.test('a node without a source takes the nearest around it', async (t) => {
  const line = { field: 'quantity', op: '>', value: 2 }
  t.same(
    parseDefinition(profile({ all: [{ source: 'commerce_orders', any: [line, { not: line }] }] })),
    parseDefinition(orders({ all: [{ any: [line, { not: line }] }] })),
  )
  t.match(
    refusal(profile({ all: [{ source: 'commerce_orders', any: [line] }, line] })),
    /^definition\.rule\.all\[1\]\.field: /,
  )
})

const counted = (rest: Json = {}) => orders({ op: 'count-over-window', ...rest })
const summed = (rest: Json = {}) => orders({ agg: 'sum', field: 'total', op: '>', value: 1, ...rest })

t.test('a refusal begins with the failing path and says what is known there', async (t) => {
  const refused: [definition: unknown, message: string | RegExp][] = [
    [
      profile({ all: [spend, { ...spend, field: 'totl_spend' }] }),
      /^definition\.rule\.all\[1\]\.field: "totl_spend" is not a field of customer_profile\. Did you mean "total_spend"\? Known: total_spend, orders_count, /,
    ],
    [null, /^definition: must be an object with source, rule, not null$/],
    [[], /^definition: .* not an empty list$/],
    [{ rule: spend }, /^definition\.source: is required\. Known: customer_profile, /],
    [{ source: 'orders', rule: spend }, /^definition\.source: "orders" is not a source\. .*Known: /],
    [{ source: 'commerce_order', rule: spend }, /Did you mean "commerce_orders"\?/],
    [{ source: 'orders', rule: spend }, /Did you mean "commerce_orders"\?/],
    [
      { ...profile(spend), name: 'x' },
      /^definition\.name: "name" is not a key here\. .*Known: source, rule$/,
    ],
    [
      { source: 'customer_profile' },
      /^definition\.rule: must be a group \(all, any, not\) or a condition, not nothing$/,
    ],
    [profile([]), /^definition\.rule: must be a group .* not an empty list$/],
    [profile({}), /^definition\.rule\.op: is required\. Known: =, /],
    [profile({ all: [] }), 'definition.rule.all: must be a list of at least one condition'],
    [profile({ any: spend }), 'definition.rule.any: must be a list of at least one condition'],
    [
      profile({ all: [spend], any: [spend] }),
      'definition.rule.any: "any" is not a key here. Known: source, all',
    ],
    [profile({ ...spend, op: '<>' }), /"<>" is not an operator\. Did you mean "!="\?/],
    [profile({ ...spend, op: '==' }), /"==" is not an operator\. Did you mean "="\?/],
    [profile({ ...spend, op: '=>' }), /"=>" is not an operator\. Did you mean ">="\?/],
    [profile({ not: [spend] }), /^definition\.rule\.not: must be a group .* not a list$/],
    [profile({ not: { all: [spend, 7] } }), /^definition\.rule\.not\.all\[1\]: must be a group .* not 7$/],
    [profile({ op: '=', value: 1 }), /^definition\.rule\.field: is required\. Known: total_spend/],
    [
      profile({ ...spend, op: 'greaterthan' }),
      /^definition\.rule\.op: "greaterthan" is not an operator\. Did you mean "greaterThan"\? Known: =, /,
    ],
    [profile({ ...spend, op: 'count_over_window' }), /Did you mean "count-over-window"\?/],
    [profile({ ...spend, op: 7 }), /^definition\.rule\.op: 7 is not an operator/],
    [
      profile({ ...spend, op: 'contains' }),
      /^definition\.rule\.op: "contains" does not apply here\. Known: =, >, /,
    ],
    [
      profile({ field: 'email', op: '>', value: 'a' }),
      /^definition\.rule\.op: ">" does not apply here\. Known: =, in, /,
    ],
    [
      profile({ feild: 'total_spend', op: '>', value: 1 }),
      /^definition\.rule\.feild: "feild" is not a key here\. Did you mean "field"\?/,
    ],
    [profile({ ...spend, 'a b': 1 }), /^definition\.rule\["a b"\]: "a b" is not a key here/],
    [profile({ field: 'total_spend', op: '=' }), 'definition.rule.value: is required'],
    [
      profile({ ...spend, value: '12,50' }),
      'definition.rule.value: must be a number or a decimal string, not "12,50"',
    ],
    [profile({ ...spend, value: '1e3' }), /must be a number or a decimal string/],
    [profile({ ...spend, value: JSON.parse('1e999') }), /must be a number or a decimal string, not Infinity/],
    [profile({ ...spend, value: null }), /must be a number or a decimal string, not null/],
    [profile({ ...spend, value: [1] }), /must be a number or a decimal string, not a list/],
    [
      profile({ field: 'has_email', op: '=', value: 'true' }),
      'definition.rule.value: must be true or false, not "true"',
    ],
    [profile({ field: 'phone', op: '=', value: 44 }), 'definition.rule.value: must be a string, not 44'],
    [profile({ field: 'phone', op: 'contains', value: '' }), 'definition.rule.value: must not be empty'],
    [
      profile({ field: 'phone', op: 'exists', value: true }),
      'definition.rule.value: this operator takes no value',
    ],
    [
      profile({ field: 'created_at', op: 'before', value: '2026-02-30' }),
      /^definition\.rule\.value: must be an ISO 8601 time/,
    ],
    [profile({ ...spend, op: 'in', value: 1 }), 'definition.rule.value: must be a list, not 1'],
    [profile({ ...spend, op: 'in', value: [] }), 'definition.rule.value: must have 1 to 500 values, not 0'],
    [profile({ ...spend, op: 'in', value: [1, 'x'] }), /^definition\.rule\.value\[1\]: must be a number/],
    [profile({ ...spend, op: 'between', value: [1] }), 'definition.rule.value: must have two values, not 1'],
    [
      profile({ ...spend, op: 'between', value: [2, '1.99'] }),
      /the first value must not be greater than the second$/,
    ],
    [
      profile({ field: 'created_at', op: 'between', value: ['2026-01-02', '2026-01-01'] }),
      /the first value must not be greater than the second$/,
    ],
    [
      profile({ field: 'created_at', op: 'withinLast', value: 30 }),
      /^definition\.rule\.value: must be an object with days, not 30$/,
    ],
    [
      profile({ field: 'created_at', op: 'withinLast', value: {} }),
      /^definition\.rule\.value\.days: must be an integer from 1 to 1095, not nothing$/,
    ],
    [profile({ field: 'created_at', op: 'withinLast', value: { days: 1096 } }), /from 1 to 1095, not 1096$/],
    [
      profile({ field: 'created_at', op: 'withinLast', value: { days: 1, hours: 2 } }),
      /^definition\.rule\.value\.hours: /,
    ],
    [
      orders({ field: 'state', op: '=', value: 'complet' }),
      /^definition\.rule\.value: "complet" is not a value of this field\. Did you mean "complete"\?/,
    ],
    [
      counted({ window: { days: 0 } }),
      /^definition\.rule\.window\.days: must be an integer from 1 to 1095, not 0$/,
    ],
    [counted({ window: { days: 1.5 } }), /not 1\.5$/],
    [counted({ window: { days: '30' } }), /not "30"$/],
    [counted({ window: { days: null } }), /^definition\.rule\.window\.days: .*, not null$/],
    [counted({ window: 30 }), /^definition\.rule\.window: must be an object with days, not 30$/],
    [
      counted({ times: { op: '>=' } }),
      /^definition\.rule\.times\.n: must be an integer from 0 to 10000, not nothing$/,
    ],
    [counted({ times: { n: 1 } }), /^definition\.rule\.times\.op: is required\. Known: =, !=, >, >=, <, <=$/],
    [
      counted({ times: { op: 'between', n: 1 } }),
      /^definition\.rule\.times\.op: "between" does not apply here/,
    ],
    [counted({ times: { op: '>=', n: 10_001 } }), /from 0 to 10000, not 10001$/],
    [counted({ times: { op: '>=', n: -1 } }), /from 0 to 10000, not -1$/],
    [
      counted({ field: 'total' }),
      /^definition\.rule\.field: "field" is not a key here\. .*Known: source, op, window, times, where$/,
    ],
    [counted({ where: spend }), /^definition\.rule\.where: must be a list of comparisons, not an object$/],
    [counted({ where: [{ all: [] }] }), /^definition\.rule\.where\[0\]\.all: "all" is not a key here/],
    [
      counted({ where: [{ source: 'carts', field: 'total', op: '=', value: 1 }] }),
      /^definition\.rule\.where\[0\]\.source: must be "commerce_orders", whose rows are looked at, not "carts"/,
    ],
    [
      counted({ where: [spend] }),
      /^definition\.rule\.where\[0\]\.field: "total_spend" is not a field of commerce_orders/,
    ],
    [
      counted({ where: [{ field: 'total', op: 'count-over-window' }] }),
      /^definition\.rule\.where\[0\]\.op: /,
    ],
    [
      profile({ op: 'count-over-window' }),
      /^definition\.rule\.op: count-over-window needs a source with many rows per customer, not customer_profile\. Known: commerce_orders, /,
    ],
    [profile({ agg: 'sum', ...spend }), /^definition\.rule\.agg: an aggregate needs a source with many rows/],
    [summed({ agg: 'total' }), /^definition\.rule\.agg: "total" is not an aggregate\. .*Known: sum, avg, /],
    [summed({ agg: 'constructor' }), /^definition\.rule\.agg: "constructor" is not an aggregate/],
    [summed({ field: undefined }), /^definition\.rule\.field: is required/],
    [summed({ field: 'state' }), /^definition\.rule\.agg: sum takes number, money; "state" is string$/],
    [summed({ agg: 'max', field: 'created_at', op: '>', value: 7 }), /must be an ISO 8601 time/],
    [summed({ times: { op: '>', n: 1 } }), /^definition\.rule\.times: "times" is not a key here/],
    [
      profile({ op: 'member-of-segment', segmentId: 'x' }),
      'definition.rule.segmentId: must be the id of a segment, not "x"',
    ],
    [
      { source: 'engagement_events', rule: { field: 'event_kind', op: '=', value: 'message_opened' } },
      /^definition\.rule\.value: "message_opened" is not a value of this field\..* Known: message_sent, /,
    ],
    [
      attributes({ field: 'tag', op: 'contains', value: 'vip' }),
      /^definition\.rule\.field: "tag" is not a field of customer_attributes\. Did you mean "tags"\? Known: tags, attributes\.<name>$/,
    ],
    [attributes({ field: 'attributes.', op: 'exists' }), /^definition\.rule\.field: must name an attribute/],
    [
      attributes({ field: 'attributes.Email', op: 'exists' }),
      'definition.rule.field: contact data is no attribute: use email of customer_profile',
    ],
    [
      attributes({ field: 'attributes.sms_consent', op: '=', value: true }),
      'definition.rule.field: Consent is not supported in rules',
    ],
    [
      attributes({ field: 'attributes.size', op: '>', value: true }),
      'definition.rule.value: must be of type number or time here, not true',
    ],
    [
      attributes({ field: 'attributes.size', op: '>', value: 'large' }),
      /^definition\.rule\.value: must be an ISO 8601 time/,
    ],
    [
      attributes({ field: 'attributes.size', op: 'in', value: [1, 'L'] }),
      /^definition\.rule\.value\[1\]: must be a number/,
    ],
    [
      attributes({ field: 'attributes.size', op: 'in', value: ['L', 1] }),
      /^definition\.rule\.value\[1\]: must be a string/,
    ],
    [
      attributes({ field: 'attributes.size', op: 'contains', value: 4 }),
      /^definition\.rule\.value: must be of type string here/,
    ],
    [
      attributes({ field: 'attributes.born', op: 'withinLast', value: 30 }),
      /^definition\.rule\.value: must be an object with days/,
    ],
    [attributes({ field: 'attributes.size', op: '=' }), 'definition.rule.value: is required'],
    [
      attributes({ field: 'attributes.size', op: 'missing', value: 1 }),
      'definition.rule.value: this operator takes no value',
    ],
    [
      attributes({ op: 'count-over-window' }),
      /^definition\.rule\.op: count-over-window needs a source with many rows per customer, not customer_attributes\./,
    ],
    [
      attributes({ agg: 'count', field: 'attributes.size', op: '>', value: 1 }),
      /^definition\.rule\.agg: an aggregate needs a source with many rows per customer, not customer_attributes\./,
    ],
    [
      profile({ field: 'attributes.size', op: 'exists' }),
      /^definition\.rule\.field: "attributes\.size" is not a field of customer_profile/,
    ],
  ]
  for (const [definition, message] of refused) t.match(refusal(definition), message)
})

const LEFT_OUT = {
  'RFM scores are': ['rfm_tier', 'RFMTier', 'rfmscore', 'frequencyScore', 'r_score'],
  'Geography is': [
    ...['country', 'Zip-Code', 'zipcode2', 'billing_city', 'shippingCountry', 'default_address.country'],
    ...['geo.country', 'province_code', 'address1', 'shipping_state', 'latitude'],
  ],
  'Consent is': [
    ...['sms_consent', 'smsconsent', 'email_marketing_consent', 'sms_marketing_consent', 'marketing_opt_in'],
    ...['smsoptin', 'opted_out', 'accepts_marketing', 'acceptsSmsMarketing', 'email_subscribed'],
  ],
  'Email engagement is': [
    ...['email_opened', 'emailopens', 'email_open_rate', 'emails_opened', 'last_email_opened_at'],
    ...['openedEmails', 'emailsBounced', 'email_click_count'],
  ],
}

const OWN = [
  ...['tier', 'tier2', 'frequency', 'recency', 'monetary', 'location', 'region', 'timezone', 'subscribed'],
  ...['opens', 'clicks'],
]

t.test('what rules leave out on purpose is said to be so, whichever way it is written', async (t) => {
  for (const [what, names] of Object.entries(LEFT_OUT))
    for (const name of names) {
      const message = `definition.rule.field: ${what} not supported in rules`
      t.equal(refusal(profile({ field: name, op: 'exists' })), message, name)
      t.equal(refusal(attributes({ field: `attributes.${name}`, op: 'exists' })), message, name)
    }
  const sources = { geography: 'Geography is', rfm_scores: 'RFM scores are' }
  for (const [source, what] of Object.entries(sources))
    t.equal(refusal({ source, rule: spend }), `definition.source: ${what} not supported in rules`)
})

t.test('a word that is left out as a field can be the name of an attribute', async (t) => {
  for (const name of OWN) {
    t.match(refusal(profile({ field: name, op: 'exists' })), / not supported in rules$/, name)
    t.ok(parseDefinition(attributes({ field: `attributes.${name}`, op: 'exists' })), name)
  }
})

t.test('letters of another word do not make a name one that is left out', async (t) => {
  for (const name of [
    ...['loyalty_tier', 'email_address', 'capacity', 'delivery_frequency', 'delivery_email', 'zipper'],
    ...['geometry', 'electricity', 'adopt_in_spring', 'email_sentiment', 'doors_open'],
  ])
    t.ok(parseDefinition(attributes({ field: `attributes.${name}`, op: 'exists' })), name)
})

t.test('a group that is misspelt is refused at its own name', async (t) => {
  t.match(
    refusal({ source: 'customer_profile', rule: { al: [spend] } }),
    /^definition\.rule\.al: "al" is not a key here\. Did you mean "all"\?/,
  )
  t.match(
    refusal({ source: 'customer_profile', rule: {} }),
    /^definition\.rule\.op: is required\. Known: =, /,
  )
})

t.test('a number counts with all of its digits', async (t) => {
  const long = parseExactly('9007199254740993') as number
  const bound = (json: number) =>
    JSON.stringify(parseDefinition(attributes({ field: 'attributes.code', op: '=', value: json })))
  t.match(bound(long), /"9007199254740993\.0*"/)
  t.match(
    refusal({ source: 'product_events', rule: { op: 'count-over-window', window: { days: long } } }),
    'definition.rule.window.days: must be an integer from 1 to 1095, not 9007199254740993',
  )
})

t.test('the place of the definition in what was sent begins its messages', async (t) => {
  t.throws(
    () => parseDefinition({}, { path: 'segments[3].definition' }),
    /^segments\[3\]\.definition\.source: /,
  )
})

const nested = (levels: number, rule: unknown = spend): unknown =>
  levels === 0 ? rule : { not: nested(levels - 1, rule) }

t.test('conditions are said in words, turned round where a group does', (t) => {
  const views = {
    op: 'count-over-window',
    window: { days: 7 },
    times: { op: '>=', n: 2 },
    where: [{ field: 'event_kind', op: '=', value: 'product_viewed' }],
  }
  const orders = { source: 'commerce_orders', op: 'count-over-window' }
  const spend = { source: 'commerce_orders', agg: 'sum', field: 'total', op: 'between', value: ['1.50', 2] }
  const profile = [
    { field: 'last_order_at', op: 'notWithinLast', value: { days: 60 } },
    { not: { field: 'email', op: 'exists' } },
    { field: 'total_spend', op: 'in', value: [1, 2, 3, 4, 5, 6] },
  ]
  const all = [
    views,
    { not: { any: [orders, spend] } },
    { source: 'customer_profile', not: { all: profile } },
  ]
  t.same(
    [...conditionsInWords({ source: 'product_events', rule: { all } })],
    [
      ['all[0]', 'count(product_events in 7 days where event_kind = product_viewed) >= 2'],
      ['all[1].not.any[0]', 'not count(commerce_orders in 1095 days) >= 1'],
      ['all[1].not.any[1]', 'not sum(commerce_orders.total in 1095 days) between 1.50, 2'],
      ['all[2].not.all[0]', 'not customer_profile.last_order_at notWithinLast 60 days'],
      ['all[2].not.all[1].not', 'customer_profile.email exists'],
      ['all[2].not.all[2]', 'not customer_profile.total_spend in 1, 2, 3, 4, 5, … (6 values)'],
    ].map(([path, words]) => [`definition.rule.${path}`, { words, turned: words?.startsWith('not ') }]),
  )
  t.end()
})

t.test('every condition of a definition has its words', (t) => {
  const random = randomSource(t)
  for (let n = 0; n < 200; n++) {
    const definition = randomDefinition(random, [segmentId(1)])
    const paths = conditionsOf(parseDefinition(definition)).map(({ path }) => path)
    t.same([...conditionsInWords(definition).keys()], paths)
  }
  t.end()
})

t.test('groups nest eight deep and no deeper', async (t) => {
  t.equal(refusal(profile(nested(8))), 'accepted')
  t.match(refusal(profile(nested(9))), /^definition\.rule(\.not){8}: groups may be nested 8 deep$/)
})

t.test('a definition has 100 conditions at most, those of where included', async (t) => {
  const conditions = (count: number): Json[] => Array.from({ length: count }, () => spend)
  t.equal(refusal(profile({ all: conditions(100) })), 'accepted')
  t.match(
    refusal(profile({ all: conditions(101) })),
    /^definition\.rule\.all\[100\]: a definition may have 100 conditions/,
  )
  const where = Array.from({ length: 100 }, () => ({ field: 'total', op: '>', value: 1 }))
  t.match(refusal(counted({ where })), /^definition\.rule\.where\[99\]: a definition may have 100/)
})

t.test('a body has room for a rule of 100 conditions, nested and wordy as they may be', async (t) => {
  const condition: Json = {
    ...{ source: 'commerce_orders', agg: 'sum', field: 'total', op: '>=', value: 1 },
    ...{ window: { days: 30 }, where: [] },
  }
  let deep = condition
  for (let level = 0; level < 7; level++) deep = { source: 'commerce_orders', not: deep }
  const definition = { source: 'customer_profile', rule: { all: Array.from({ length: 100 }, () => deep) } }
  t.equal(refusal(definition), 'accepted')
  t.equal(sizeProblem(Buffer.from(JSON.stringify({ name: 'Wordy', definition }))), null)
})

t.test('a list has 500 values and a text 1,000 characters at most', async (t) => {
  const values = (count: number) =>
    profile({ ...spend, op: 'in', value: Array.from({ length: count }, (_, n) => n) })
  t.equal(refusal(values(500)), 'accepted')
  t.match(refusal(values(501)), /^definition\.rule\.value: must have 1 to 500 values, not 501$/)
  const phone = (value: string) => profile({ field: 'phone', op: '=', value })
  t.equal(refusal(phone('1'.repeat(1_000))), 'accepted')
  t.match(refusal(phone('1'.repeat(1_001))), /at most 1000 characters, not 1001$/)
  t.equal(refusal(phone('😀'.repeat(1_000))), 'accepted', 'characters are code points')
  t.match(refusal(phone('😀'.repeat(1_001))), /at most 1000 characters, not 1001$/)
})

t.test('hostile input is refused quickly, with a short message', async (t) => {
  const deep = JSON.parse(`${'{"not":'.repeat(100_000)}1${'}'.repeat(100_000)}`)
  const long = 'x'.repeat(1_000_000)
  const cases: unknown[] = [
    profile(deep),
    profile({ field: deep, op: deep, value: deep }),
    profile({ field: long, op: '=', value: 1 }),
    profile({ field: 'phone', op: long, value: 1 }),
    profile({ ...spend, [long]: 1 }),
    profile({ ...spend, value: '9'.repeat(1_000_000) }),
    profile({ field: 'phone', op: '=', value: 'a\0b' }),
    profile({ field: 'phone', op: '=', value: '\ud800' }),
    profile({ all: Array.from({ length: 1_000_000 }, () => spend) }),
    profile({ field: 'phone', op: 'in', value: Array.from({ length: 1_000_000 }, () => 'x') }),
    { source: long, rule: spend },
  ]
  for (const definition of cases) {
    const started = performance.now()
    const message = refusal(definition)
    t.match(message, /^definition/)
    t.ok(message.length < 1_000, `${message.length} characters`)
    t.ok(performance.now() - started < 1_000)
  }
})

t.test('names that every object has are neither fields nor keys', async (t) => {
  const keys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  for (const key of keys) {
    const own = JSON.parse(`{"field":"total_spend","op":">","value":1,"${key}":{"all":[]}}`)
    t.match(refusal(profile(own)), /is not a key here/, key)
    for (const place of ['field', 'op'])
      t.match(
        refusal(profile({ ...spend, [place]: key })),
        new RegExp(`^definition\\.rule\\.${place}: `),
        key,
      )
    t.match(refusal({ source: key, rule: spend }), /^definition\.source: /)
    t.match(refusal(summed({ agg: key })), /^definition\.rule\.agg: /)
  }
  const inherited = Object.create({ field: 'total_spend', op: '>', value: 1 })
  t.match(refusal(profile(inherited)), /^definition\.rule\.op: is required/)
  t.equal(({} as Json).all, undefined, 'no prototype was changed')
})

t.test('numbers are fitted to what a column can hold, without loss', async (t) => {
  const money = { scale: 2, digits: 16 }
  const greatest = '9999999999999999.99'
  const cases: [Comparison, string, Comparison, string | null][] = [
    ['=', '12.5', '=', '12.50'],
    ['=', '12.505', '=', null],
    ['>', '12.505', '>', '12.50'],
    ['>=', '12.505', '>=', '12.51'],
    ['<', '12.505', '<', '12.51'],
    ['<=', '12.505', '<=', '12.50'],
    ['>', '-12.505', '>', '-12.51'],
    ['<', '-12.505', '<', '-12.50'],
    ['>', '5e-324', '>', '0.00'],
    ['>=', '5e-324', '>=', '0.01'],
    ['=', '-0', '=', '0.00'],
    ['=', greatest, '=', greatest],
    ['=', '1e+21', '=', null],
    ['>', '1e+300', '>', null],
    ['<', '1e+300', '<=', greatest],
    ['<=', '1e+300', '<=', greatest],
    ['>', '-1e+300', '>=', `-${greatest}`],
    ['<=', '-1e+300', '<=', null],
    ['>', '9999999999999999.995', '>', greatest],
    ['>=', '9999999999999999.995', '>=', null],
  ]
  for (const [op, text, fittedOp, value] of cases)
    t.same(fit(op, text, money), { op: fittedOp, value }, `${op} ${text}`)
})

t.test(
  'a number is rounded as the attributes that it is compared with, all beyond their room are equally far',
  (t) => {
    const attribute = { scale: 16, digits: 22, rounded: true } as const
    const most = `${'9'.repeat(22)}.${'9'.repeat(16)}`
    const cases: [Comparison, string, Comparison, string | null][] = [
      ['=', '0.30000000000000004', '=', '0.3000000000000000'],
      ['>', '0.30000000000000005', '>', '0.3000000000000001'],
      ['<=', '-0.30000000000000005', '<=', '-0.3000000000000001'],
      ['<', '0.00000000000000049', '<', '0.0000000000000005'],
      ['=', '5e-324', '=', '0.0000000000000000'],
      ['<', '9999999999999999999999', '<', `${'9'.repeat(22)}.${'0'.repeat(16)}`],
      ['=', most, '=', null],
      ['=', '1e+23', '=', null],
      ['>', '1e+23', '>=', most],
      ['>=', '1e+23', '>=', most],
      ['<', '1e+23', '<', most],
      ['<=', '1e+23', '<', most],
      ['<', '-1e+23', '<=', `-${most}`],
      ['<=', '-1e+23', '<=', `-${most}`],
      ['>', '-1e+23', '>', `-${most}`],
      ['>=', '-1e+23', '>', `-${most}`],
    ]
    for (const [op, text, fittedOp, value] of cases)
      t.same(fit(op, text, attribute), { op: fittedOp, value }, `${op} ${text}`)
    t.end()
  },
)

t.test('times are ISO 8601, read as UTC', async (t) => {
  const times: [given: string, read: string][] = [
    ['2026-01-31', '2026-01-31 00:00:00.000000'],
    ['2026-01-31T10:20', '2026-01-31 10:20:00.000000'],
    ['2026-01-31T10:20:30', '2026-01-31 10:20:30.000000'],
    ['2026-01-31T10:20:30.5Z', '2026-01-31 10:20:30.500000'],
    ['2026-01-31 10:20:30.123456789+02:00', '2026-01-31 08:20:30.123456'],
    ['2026-01-01T00:00:00-0530', '2026-01-01 05:30:00.000000'],
    ['2026-01-31T10:20:30+05', '2026-01-31 05:20:30.000000'],
    ['2026-01-31T10:20:30z', '2026-01-31 10:20:30.000000'],
    ['2028-02-29T23:59:59Z', '2028-02-29 23:59:59.000000'],
    ['0001-01-01T00:00:00Z', '0001-01-01 00:00:00.000000'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31 23:59:59.999999'],
  ]
  for (const [given, read] of times) t.equal(readTime(given, 'at'), read, given)
  const wrong: unknown[] = [
    ...[
      '',
      'now',
      '2026',
      '2026-13-01',
      '2026-02-29',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:00:60Z',
      '+12026-01-01',
    ],
    ...[
      '0000-01-01',
      '9999-12-31T23:59:59-01:00',
      '2026-01-01T00:00:00+25:00',
      '2026-01-01T00:00:00ZZ',
      1,
      null,
      {},
    ],
  ]
  for (const given of wrong)
    t.throws(() => readTime(given, 'at'), /^at: must be an ISO 8601 time/, JSON.stringify(given))
})

t.test('the JSON Schema of definitions takes what is valid, and refuses what is not', (t) => {
  const validate = new Ajv2020({ strict: true, formats: { uuid: true } }).compile(definitionSchema())
  const random = randomSource(t)
  const valid = [
    ...Object.values(OPERATORS).map(({ example }) => profile(example)),
    ...Array.from({ length: 300 }, () => randomDefinition(random, [segmentId(0)])),
    counted({ window: {} }),
    counted({ where: [{ source: 'commerce_orders', field: 'total', op: 'exists' }] }),
  ]
  for (const definition of valid)
    if (!validate(definition)) t.same(validate.errors, [], JSON.stringify(definition))
  const invalid = [
    {},
    { source: 'orders', rule: spend },
    profile([]),
    profile({ ...spend, op: '==' }),
    profile({ all: [] }),
    counted({ window: { days: 1_096 } }),
    counted({ times: { op: 'between', n: 1 } }),
    counted({ where: [{ all: [] }] }),
  ]
  for (const definition of invalid) {
    t.not(refusal(definition), 'accepted')
    t.notOk(validate(definition), JSON.stringify(definition))
  }
  t.end()
})

t.test('the tools that take a definition say all that rules know', (t) => {
  const { sources, operators, aggregates } = describeCatalog()
  const names = [
    ...sources.flatMap(({ name, fields }) => [name, ...fields.map((field) => `${field.name} (`)]),
    ...operators.map(({ name }) => name),
    ...aggregates.map(({ name }) => name),
    'count-over-window',
    'member-of-segment',
  ]
  const taking = [...segmentOps, ...segmentQuestionOps].filter(
    ({ input }) => input.body && 'definition' in entriesOf(input.body),
  )
  t.same(taking.map(({ name }) => name).sort(), [
    'create_segment',
    'estimate_segment',
    'preview_segment',
    'update_segment',
  ])
  for (const op of taking) {
    const text = JSON.stringify(toolOf(op).listed.inputSchema)
    t.same(
      names.filter((name) => !text.includes(JSON.stringify(name).slice(1, -1))),
      [],
      op.name,
    )
  }
  t.end()
})

t.test('the catalog describes itself as data, whole', async (t) => {
  const { operators, sources, aggregates } = describeCatalog()
  t.same(JSON.parse(JSON.stringify(describeCatalog())), describeCatalog())
  t.same(
    operators.map(({ name }) => name),
    Object.keys(OPERATORS),
  )
  t.same(
    aggregates.map(({ name }) => name),
    Object.keys(AGGREGATES),
  )
  t.same(
    sources.map(({ name }) => name),
    Object.keys(SOURCES),
  )
  t.ok(sources.every(({ help, fields }) => help && fields.length > 0 && fields.every((field) => field.help)))
})

t.test('the description of a rule names the operators of each type, and no others', (t) => {
  const said = /Operators: (.*?)\. /.exec(catalogText())?.[1] ?? ''
  const named = said.split('; of ').flatMap((group) => {
    const words = group.replace(/^of /, '').split(' ')
    const types = words
      .slice(0, 2 * words.filter((word) => word === 'and').length + 1)
      .filter((word) => word !== 'and')
    return types.flatMap((type) => words.slice(2 * types.length - 1).map((op) => `${type} ${op}`))
  })
  const taken = describeCatalog().operators.flatMap(({ name, takes }) =>
    takes.map((type) => `${type} ${name}`),
  )
  t.same(named.sort(), taken.sort())
  t.end()
})

t.test('a saved definition keeps a name that rules have left out since', (t) => {
  const definition = attributes({ field: 'attributes.billing_city', op: '=', value: 'Paris' })
  t.match(refusal(definition), /not supported in rules/)
  t.ok(parseSaved({ definition: JSON.stringify(definition), created_by: 'rest' }))
  t.end()
})

import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { OPS } from '../src/ops/all.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, lakeOf, logBatch } from './fixtures/lake.ts'

/** What a sender's long numbers read as. JSON.parse would change them: the texts are compared. */
const LONG = '9007199254740993'
const CREDIT = '1234567890123456.78'
/** As many decimals as a double prints. */
const RATIO = 0.1234567890123456
const TRACE = 1e-7
const db = await database(t)
const pipeline = await lake(t, db)
const { call, tool, key, signIn } = await api(t, db, OPS, { lake: lakeOf(t, pipeline) })
const brand = await makeBrand(db, { features: ['cdp', 'beta:cdp-commerce'] })
const as = await key(brand, ['customers:read'])

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
const long = rawJSON(LONG)
const email = 'ann@example.com'
await logBatch(db.postgres.sql, [
  {
    brand_id: brand.id,
    event_type: 'updateProperties',
    email,
    properties: {
      serial: long,
      parts: [long],
      credit: CREDIT,
      debit: rawJSON('99999999999999.99'),
      ratio: RATIO,
      ratios: [RATIO],
      trace: TRACE,
      vast: 1e30,
      least: -1e30,
      infinite: 'Infinity',
    },
  },
  { brand_id: brand.id, event_type: 'unit_registered', email, properties: { serial: long } },
])
await snapshotAll(pipeline)
const [{ id } = {}] = await db.postgres.sql`select id from customer where brand_id = ${brand.id}`

const everywhere = async () => {
  const paths = [`/v1/customers/${id}`, '/v1/customers', `/cdp/profiles/${id}`]
  return [
    ...(await Promise.all(paths.map(async (path) => (await call(`GET ${path}`, { as })).text))),
    (await tool('get_customer', { customer_id: id }, { as })).text,
  ]
}

t.test('integers beyond 2^53 that set a property keep their digits', async (t) => {
  t.match((await call(`GET /v1/customers/${id}`, { as })).text, `"serial":${LONG}`, 'before a refresh')
  await refreshBrand(pipeline, brand.id)
  for (const text of await everywhere()) {
    t.match(text, `"serial":${LONG}`)
    t.match(text, `"parts":[${LONG}]`)
  }
})

t.test('decimals that no double holds read as the nearest one', async (t) => {
  for (const text of await everywhere()) t.match(text, '"debit":99999999999999.98')
})

t.test('those of events keep them in the timeline', async (t) => {
  const { text } = await call(`GET /v1/customers/${id}/activity`, { as })
  t.match(text, `"serial":${LONG}`)
  t.notMatch(text, '9007199254740992')
})

t.test('those of a rule are compared with every digit, and shown as they were sent', async (t) => {
  const editor = signIn(brand)
  const rule = (number: string, name = 'serial') =>
    `{"source":"customer_attributes","rule":{"field":"attributes.${name}","op":"=","value":${number}}}`
  const count = async (...compared: Parameters<typeof rule>) =>
    (await call('POST /v1/segments/estimate', { as: editor, text: `{"definition":${rule(...compared)}}` }))
      .body.count
  t.same([await count(LONG), await count('9007199254740992')], [1, 0])
  t.same([await count(CREDIT, 'credit'), await count('1234567890123456.8', 'credit')], [1, 0])
  const made = await call('POST /v1/segments', {
    as: editor,
    text: `{"name":"Serial","definition":${rule(LONG)}}`,
  })
  t.equal(made.status, 200)
  t.match(made.text, `"value":${LONG}`)
  const again = { as: editor, text: `{"definition":${rule(LONG)}}` }
  t.match((await call(`PATCH /v1/segments/${made.body.id}`, again)).text, `"value":${LONG}`)
  t.match((await call(`GET /v1/segments/${made.body.id}`, { as: editor })).text, `"value":${LONG}`)
  t.match((await tool('get_segment', { segment_id: made.body.id }, { as: editor })).text, `"value":${LONG}`)
  await refreshBrand(pipeline, brand.id)
  const { body } = await call(`GET /v1/segments/${made.body.id}`, { as: editor })
  t.match(body.audience, { evaluation_status: 'evaluated', member_count: 1 })

  await t.test('and so are those with decimals', async (t) => {
    const saved = await call('POST /v1/segments', {
      as: editor,
      text: `{"name":"Credit","definition":${rule(CREDIT, 'credit')}}`,
    })
    t.match(saved.text, `"value":${CREDIT}`)
    t.match((await call(`GET /v1/segments/${saved.body.id}`, { as: editor })).text, `"value":${CREDIT}`)
  })

  await t.test('every decimal of an attribute counts, too', async (t) => {
    const compared = async (name: string, op: string, value: number) => {
      const rule = { source: 'customer_attributes', field: `attributes.${name}`, op, value }
      const definition = { source: 'customer_profile', rule }
      return (await call('POST /v1/segments/estimate', { as: editor, body: { definition } })).body.count
    }
    for (const name of ['ratio', 'ratios'])
      t.same([await compared(name, '=', RATIO), await compared(name, '>', RATIO)], [1, 0], name)
    t.same([await compared('trace', '>', 0), await compared('trace', '=', 0)], [1, 0])
    t.same([await compared('vast', '>', 5), await compared('vast', '<', 5)], [1, 0], 'beyond all room')
    t.same([await compared('least', '>', 5), await compared('least', '<', 5)], [0, 1])
    t.same([await compared('infinite', '>', 5), await compared('infinite', '<', 5)], [0, 0], 'no number')
    const { body } = await call('GET /cdp/definitions/properties', { as })
    const properties = body.properties as { id: string; type: string }[]
    t.equal(properties.find(({ id }) => id === 'trace')?.type, 'decimal')
  })

  await t.test('and so are those of a condition', async (t) => {
    const condition = (number: string) =>
      `{"condition":{"type":"profilePropertyCondition","parameterValues":{"propertyName":"properties.serial","comparisonOperator":"equals","propertyValueInteger":${number}}}}`
    const counted = async (number: string) =>
      (await call('POST /cdp/query/profile/count', { as: editor, text: condition(number) })).text
    t.match([await counted(LONG), await counted('9007199254740992')], [/"count":1,/, /"count":0,/])
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isKey } from '../src/access/key.ts'
import { createSeal, openSeal } from '../src/access/seal.ts'
import { main } from '../src/cli/main.ts'
import { sourceTemplates } from '../src/connect/custom/templates.ts'
import { secretPlace } from '../src/connect/custom/webhook-secret.ts'
import { checkSchema } from '../src/event/payload-schema.ts'
import { EVENT_TYPES, PREDEFINED_TRIGGERS, SERVICE_EVENT_TYPES } from '../src/event/types.ts'
import { OPS } from '../src/ops/all.ts'
import { renamedIn } from '../src/segment/rename-event.ts'
import { api, SEAL_KEY, WEBHOOK_ORIGIN } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { type Database, database } from './fixtures/database.ts'

t.capture(process.stderr, 'write')

const SCOPES = ['providers:read', 'providers:write', 'integrations:read']
const SHOWN = ['id', 'key', 'name', 'lookup_id', 'source_template_key', 'is_enabled', 'settings']
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
const stamp = (more: object = {}) => ({
  type: 'stamp_given',
  name: 'Stamp given',
  payload_schema: { type: 'object', required: ['id'] },
  identifier_mappings: { external_id_path: '$.id', email_path: 'customer.email' },
  ...more,
})

/** A brand, calls with a key of it, and calls with whatever credential. */
async function shop(t: Test, db: Database) {
  const { call: callAs, tool, key, signIn } = await api(t, db, OPS)
  const brand = await makeBrand(db, { features: ['cdp'] })
  const as = await key(brand, SCOPES)
  const call = (route: string, body?: object) => callAs(route, { as, body })
  let names = 0
  /** The id of a new provider. */
  const provider = async (body: object = {}): Promise<string> =>
    (await call('POST /v1/providers', { name: `Source ${++names}`, ...body })).body.id
  return { brand, call, callAs, tool, key, provider, signIn }
}

t.test('providers', async (t) => {
  const db = await database(t)
  const { brand, call, provider, signIn, callAs, key, tool } = await shop(t, db)

  await t.test('a new one shows its credentials once', async (t) => {
    const { status, body } = await call('POST /v1/providers', { name: 'Stämp Club' })
    t.equal(status, 200)
    t.same(Object.keys(body), [...SHOWN, 'api_key', 'webhook_secret', 'webhook_url'])
    t.match(body, {
      key: 'stamp_club',
      source_template_key: null,
      is_enabled: true,
      settings: {},
      api_key: null,
    })
    t.equal(body.webhook_url, `${WEBHOOK_ORIGIN}/custom/${body.lookup_id}`)
    const read = await call(`GET /v1/providers/${body.id}`)
    t.same(Object.keys(read.body), SHOWN)
    t.same((await call('GET /v1/providers')).body, { data: [read.body], next_cursor: null })
  })

  await t.test('its secret is sealed for it alone', async (t) => {
    const { body } = await call('POST /v1/providers', { name: 'Sealed' })
    const [row] = await db.postgres.sql`select * from provider where id = ${body.id}`
    t.notOk(JSON.stringify(row).includes(body.webhook_secret))
    const seal = createSeal(SEAL_KEY)
    t.equal(seal.open(row?.webhook_secret, secretPlace(body.id)).toString(), body.webhook_secret)
    t.throws(() => seal.open(row?.webhook_secret, secretPlace(UNKNOWN)))
  })

  await t.test('a key of its own is for a sign-in with keys:manage only', async (t) => {
    const create = async (as: string) =>
      (
        await callAs('POST /v1/providers', {
          as,
          body: { name: 'Own key', key: `k${Math.random()}`.replace('.', '') },
        })
      ).body.api_key
    const scopes = ['providers:write']
    t.equal(await create(signIn(brand, { scopes })), null)
    t.equal(await create(signIn(brand, { role: 'member', scopes })), null)
    t.equal(await create(signIn(brand, { kind: 'session' })), null)
    const key = await create(signIn(brand, { scopes: [...scopes, 'keys:manage'] }))
    t.match(key, /^svc_ba_/)
    t.ok(isKey(key))
    t.equal((await callAs('GET /v1/providers', { as: key })).status, 200)
    t.equal((await callAs('GET /v1/segments', { as: key })).status, 403)
    t.equal((await callAs('GET /v1/brand', { as: key })).status, 403)
  })

  await t.test('settings are merged level by level, and type_matchers stay', async (t) => {
    const type_matchers = [{ path: 'kind', type: 'stamp_given' }]
    const id = await provider({ settings: { a: { b: 1, c: 2 }, request_mapping: { type_matchers, x: 1 } } })
    const patch = async (settings: object) =>
      (await call(`PATCH /v1/providers/${id}`, { settings })).body.settings
    t.same(await patch({ request_mapping: { x: 2 } }), {
      a: { b: 1, c: 2 },
      request_mapping: { type_matchers, x: 2 },
    })
    t.same(await patch({ a: { b: null, toString: [1] } }), {
      a: { c: 2, toString: [1] },
      request_mapping: { type_matchers, x: 2 },
    })
    t.same(
      (await patch({ request_mapping: null })).request_mapping,
      { type_matchers },
      'what it does not name',
    )
    t.same((await patch({ request_mapping: { type_matchers: null } })).request_mapping, {})
    t.notOk('request_mapping' in (await patch({ request_mapping: null })))
    for (const one of [id, UNKNOWN])
      t.match(
        await call(`PATCH /v1/providers/${one}`, { settings: { request_mapping: 1 } }),
        { status: 400, body: { error: { message: 'settings.request_mapping must be an object' } } },
        one,
      )
    const { body } = await call(`PATCH /v1/providers/${id}`, { name: 'Other', is_enabled: false })
    t.match(body, { name: 'Other', is_enabled: false, settings: { a: { c: 2 } } })
  })

  await t.test('settings are returned as they were sent, with every digit', async (t) => {
    const id = await provider({ settings: { kept: 1 } })
    const sent = '{"account":12345678901234567890,"shops":[9007199254740993,-9007199254740993,0.1]}'
    const as = await key(brand, SCOPES)
    const textOf = async (method: string, body?: string) =>
      (await callAs(`${method} /v1/providers/${id}`, { as, ...(body && { text: body }) })).text
    const settings = `"settings":{"kept":1,${sent.slice(1)}`
    t.match(await textOf('PATCH', `{"settings":${sent}}`), settings)
    t.match(await textOf('PATCH', '{"name":"Other"}'), settings)
    t.match(await textOf('GET'), settings)
    t.match(await textOf('PATCH', '{"name":12345678901234567890}'), 'name must be a string')
    t.match(await textOf('PATCH', '{"settings":12345678901234567890}'), 'settings must be an object')
    const values = `{"provider_id":"${id}","settings":${sent}}`
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"update_provider","arguments":${values}}}`
    const { text } = await tool('update_provider', {}, { as, text: message })
    t.match(text, `"structuredContent":{`)
    t.match(text, settings, 'by the tool, too')
  })

  await t.test('a key that exists, or that a built-in type or trigger has, is a conflict', async (t) => {
    const taken = ['stamp_club', 'Stamp_Club', 'order_created', 'updateproperties', 'browse_abandoned']
    for (const key of taken)
      t.match(await call('POST /v1/providers', { name: 'Taken', key }), {
        status: 409,
        body: { error: { code: 'conflict' } },
      })
    t.match(await call('POST /v1/providers', { name: 'Order created' }), { status: 409 })
    for (const name of [' \t ', '\u200b', '\u2060\u00a0\ufeff', '\u00ad\u0085'])
      t.match(await call('POST /v1/providers', { name }), {
        status: 400,
        body: { error: { message: 'name must be 1 to 200 characters, not only blanks' } },
      })
    t.match(await call('POST /v1/providers', { name: '日本' }), {
      status: 200,
      body: { key: /^source_[0-9a-f]{8}$/ },
    })
  })

  await t.test('a brand has 25, however many are asked for at once', async (t) => {
    const { call } = await shop(t, db)
    const made = await Promise.all(
      Array.from({ length: 32 }, (_, at) => call('POST /v1/providers', { name: `Source ${at}` })),
    )
    t.equal(made.filter(({ status }) => status === 200).length, 25)
    for (const { status, body } of made.filter(({ status }) => status !== 200))
      t.match({ status, body }, { status: 409, body: { error: { code: 'limit_reached' } } })
    t.equal((await call('GET /v1/providers')).body.data.length, 25)
  })
})

t.test('event definitions', async (t) => {
  const db = await database(t)
  const { brand, call, provider, signIn, callAs, key, tool } = await shop(t, db)
  const id = await provider()
  const path = `/v1/providers/${id}/event-definitions`

  await t.test('one is registered, listed and read as it was sent', async (t) => {
    const sent = stamp({ payload_schema: { required: ['id'], type: 'object', $comment: 'order kept' } })
    const { status, body } = await call(`POST ${path}`, sent)
    t.equal(status, 200)
    t.match(body, {
      ...sent,
      description: null,
      schema_version: 1,
      source_template_key: null,
      is_enabled: true,
    })
    t.same(Object.keys(body.payload_schema), ['required', 'type', '$comment'])
    t.same((await call(`GET ${path}/${body.id}`)).body, body)
    t.same((await call(`GET ${path}`)).body, { data: [body], next_cursor: null })
  })

  await t.test(
    'a type that exists, or is built in, is a conflict; another provider may have it',
    async (t) => {
      for (const type of ['stamp_given', 'page_viewed', 'segment_entered'])
        t.match(await call(`POST ${path}`, stamp({ type })), {
          status: 409,
          body: { error: { code: 'conflict' } },
        })
      const other = await provider()
      t.match(await call(`POST /v1/providers/${other}/event-definitions`, stamp()), { status: 200 })
    },
  )

  await t.test('what is wrong is named', async (t) => {
    const wrong: [object, RegExp][] = [
      [{ type: '1st' }, /^type must be a letter/],
      [{ payload_schema: { type: 'text' } }, /^payload_schema\.type must be one or more of/],
      [
        { payload_schema: { properties: { a: { minimum: 'x' } } } },
        /^payload_schema\.properties\.a\.minimum must be a number/,
      ],
      [
        { identifier_mappings: { external_id_path: 'id' } },
        /^identifier_mappings must have email_path, phone_path or both/,
      ],
      [{ identifier_mappings: { email_path: 'e' } }, /^identifier_mappings\.external_id_path is required/],
      [
        { identifier_mappings: { external_id_path: 'a[*]', email_path: 'e' } },
        /external_id_path must be a path to one value/,
      ],
      [{ identifier_mappings: { external_id_path: 'a', email_path: 'e', sms: 'x' } }, /sms is not a field/],
    ]
    for (const [more, message] of wrong) {
      const { status, body } = await call(`POST ${path}`, stamp({ type: 'wrong', ...more }))
      t.equal(status, 400)
      t.match(body.error.message, message)
    }
  })

  await t.test('a schema is returned as it was sent, with every digit', async (t) => {
    const as = await key(brand, SCOPES)
    const schema = (digits: string) =>
      `"payload_schema":{"properties":{"id":{"minimum":${digits},"enum":[${digits},-9007199254740993]}},"maxItems":${digits}}`
    const [sent, changed] = [schema('9007199254740993'), schema('12345678901234567890')]
    const rest = JSON.stringify(stamp({ type: 'long_ids', payload_schema: undefined })).slice(1, -1)
    const textOf = async (route: string, text?: string) =>
      (await callAs(route, { as, ...(text && { text }) })).text
    const made = await textOf(`POST ${path}`, `{${rest},${sent}}`)
    t.match(made, sent)
    const place = `${path}/${JSON.parse(made).id}`
    t.match(await textOf(`PATCH ${place}`, '{"name":"Other"}'), sent)
    t.match(await textOf(`PATCH ${place}`, `{"schema_version":1,${changed}}`), changed)
    for (const route of [`GET ${place}`, `GET ${path}`, 'GET /v1/event-types'])
      t.match(await textOf(route), changed.slice('"payload_schema":'.length), route)
    for (const [wrong, message] of [
      ['12345678901234567890', 'payload_schema must be an object'],
      ['{"type":9007199254740993}', 'payload_schema.type must be one or more of'],
      ['{"items":9007199254740993}', 'payload_schema.items must be a schema'],
    ])
      t.match(await textOf(`POST ${path}`, `{${rest},"payload_schema":${wrong}}`), message)

    const called = async (name: string, values: string) => {
      const params = `"params":{"name":"${name}","arguments":{"provider_id":"${id}",${values}}}`
      const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call",${params}}`
      return (await tool(name, {}, { as, text })).text
    }
    const other = `${JSON.stringify(stamp({ type: 'by_tool', payload_schema: undefined })).slice(1, -1)},${sent}`
    t.match(await called('create_event_definition', other), sent, 'by the tool, too')
    const change = `"definition_id":"${JSON.parse(made).id}","schema_version":2,${sent}`
    t.match(await called('update_event_definition', change), sent)
  })

  await t.test('a new schema needs the version that it replaces', async (t) => {
    const { body } = await call(`POST ${path}`, stamp({ type: 'versioned' }))
    const change = (more: object) => call(`PATCH ${path}/${body.id}`, more)
    const payload_schema = { type: 'object' }
    t.match(await change({ payload_schema }), {
      status: 400,
      body: { error: { message: /^schema_version/ } },
    })
    t.match(await change({ payload_schema, schema_version: 1 }), { status: 200, body: { schema_version: 2 } })
    t.match(await change({ payload_schema, schema_version: 1 }), {
      status: 409,
      body: { error: { code: 'conflict' } },
    })
    t.match(await change({ name: 'New', is_enabled: false }), {
      status: 200,
      body: { name: 'New', is_enabled: false, schema_version: 2, payload_schema },
    })
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => change({ payload_schema, schema_version: 2 })),
    )
    t.equal(answers.filter(({ status }) => status === 200).length, 1, 'one of many at once')
  })

  await t.test('a renamed type is taken up by the rules of segments', async (t) => {
    const mine = await provider()
    const place = `/v1/providers/${mine}/event-definitions`
    const { body } = await call(`POST ${place}`, stamp({ type: 'badge_won' }))
    const as = signIn(brand)
    const rule = (value: unknown, op = '=') => ({
      source: 'product_events',
      rule: {
        all: [{ op: 'count-over-window', window: { days: 30 }, where: [{ field: 'event_kind', op, value }] }],
      },
    })
    const save = async (name: string, definition: object) =>
      (await callAs('POST /v1/segments', { as, body: { name, definition } })).body.id
    const named = await save('Named', rule('badge_won'))
    const listed = await save('Listed', rule(['badge_won', 'product_viewed'], 'in'))
    const other = await save('Other', rule('badge_won_twice'))
    const read = async (id: string) => (await callAs(`GET /v1/segments/${id}`, { as })).body

    t.match(await call(`PATCH ${place}/${body.id}`, { type: 'badge_earned' }), { status: 200 })
    t.match(await read(named), { version: 2, definition: rule('badge_earned') })
    t.match(await read(listed), { version: 2, definition: rule(['badge_earned', 'product_viewed'], 'in') })
    t.match(await read(other), { version: 1, definition: rule('badge_won_twice') })

    const twin = await call(`POST /v1/providers/${id}/event-definitions`, stamp({ type: 'badge_earned' }))
    t.match(await call(`PATCH ${place}/${body.id}`, { type: 'badge_kept' }), { status: 200 })
    t.match(await read(named), { version: 2 }, 'a name that another provider has too still means its events')
    t.match(await call(`PATCH ${path}/${twin.body.id}`, { type: 'order_created' }), { status: 409 })
  })

  await t.test('a type is renamed in rules that say what was taken once, too', async (t) => {
    const place = `/v1/providers/${await provider()}/event-definitions`
    const { body } = await call(`POST ${place}`, stamp({ type: 'wish_made' }))
    const named = (value: string) => ({ source: 'product_events', field: 'event_kind', op: '=', value })
    const saved = (value: string) => ({
      source: 'customer_profile',
      rule: {
        all: [
          named(value),
          { source: 'customer_attributes', field: 'attributes.home_country', op: '=', value: 'NO' },
        ],
      },
    })
    const as = signIn(brand)
    const definition = { source: 'customer_profile', rule: named('wish_made') }
    const made = await callAs('POST /v1/segments', { as, body: { name: 'Wishing', definition } })
    await db.postgres.sql`
      update segment_version set definition = ${JSON.stringify(saved('wish_made'))}::text::jsonb
      where segment_id = ${made.body.id}`
    t.match(await call(`PATCH ${place}/${body.id}`, { type: 'wish_sent' }), { status: 200 })
    t.match(await callAs(`GET /v1/segments/${made.body.id}`, { as }), {
      body: { definition: saved('wish_sent') },
    })
  })

  await t.test('what happened to a message is not the type that is called so', async (t) => {
    const place = `/v1/providers/${await provider()}/event-definitions`
    const { body } = await call(`POST ${place}`, stamp({ type: 'message_replied' }))
    const field = { field: 'event_kind', op: '=', value: 'message_replied' }
    const counted = (source: string) => ({
      source,
      ...{ op: 'count-over-window', window: { days: 30 }, where: [field] },
    })
    const definition = {
      source: 'engagement_events',
      rule: { any: [field, counted('product_events'), counted('engagement_events')] },
    }
    const as = signIn(brand)
    const saved = await callAs('POST /v1/segments', { as, body: { name: 'Replied', definition } })
    t.match(await call(`PATCH ${place}/${body.id}`, { type: 'ticket_replied' }), { status: 200 })
    const renamed = { ...counted('product_events'), where: [{ ...field, value: 'ticket_replied' }] }
    t.match((await callAs(`GET /v1/segments/${saved.body.id}`, { as })).body, {
      version: 2,
      definition: { ...definition, rule: { any: [field, renamed, counted('engagement_events')] } },
    })
  })

  await t.test('a renamed type is taken up by the matching rules of its provider', async (t) => {
    const matchers = (type: string) => [
      { path: 'kind', equals: 'mark_set', type },
      { any: [{ path: 'kind', equals: 'mark' }], type },
      { path: 'change', equals: { type: 'mark_set' }, all: [{ type: 'mark_set' }], type },
      { every: [{ path: 'kind', type }] },
      { path: 'kind', equals: 'other', type: 'mark_set_twice' },
    ]
    const settings = (type: string) => ({
      type: 'mark_set',
      account: 1,
      request_mapping: { type_matchers: matchers(type), type: 'mark_set' },
    })
    const [mine, twin] = [
      await provider({ settings: settings('mark_set') }),
      await provider({ settings: settings('mark_set') }),
    ]
    const read = async (one: string) => (await call(`GET /v1/providers/${one}`)).body
    const before = await read(mine)
    const { body } = await call(`POST /v1/providers/${mine}/event-definitions`, stamp({ type: 'mark_set' }))
    await call(`PATCH /v1/providers/${mine}/event-definitions/${body.id}`, { type: 'mark_made' })
    t.strictSame(
      await read(mine),
      { ...before, settings: settings('mark_made') },
      'and nothing else is changed',
    )
    t.strictSame((await read(twin)).settings, settings('mark_set'), 'a matcher means types of its provider')
  })
  await t.test('a renamed type is taken up where its provider maps words to types', async (t) => {
    const settings = (type: string) => ({
      request_mapping: {
        type_matchers: { 'seal.set': type, seal_set: 'seal_lost', 'seal.lost': 'seal_lost' },
      },
    })
    const mine = await provider({ settings: settings('seal_set') })
    const { body } = await call(`POST /v1/providers/${mine}/event-definitions`, stamp({ type: 'seal_set' }))
    await call(`PATCH /v1/providers/${mine}/event-definitions/${body.id}`, { type: 'seal_made' })
    t.strictSame((await call(`GET /v1/providers/${mine}`)).body.settings, settings('seal_made'))
  })

  await t.test(
    'a provider whose settings grew with the name of a type can still be switched off',
    async (t) => {
      const settings = { note: '', request_mapping: { type_matchers: [{ type: 'short' }] } }
      settings.note = 'x'.repeat(64 * 1024 - JSON.stringify(settings).length)
      const one = await provider({ settings })
      const { body } = await call(`POST /v1/providers/${one}/event-definitions`, stamp({ type: 'short' }))
      const renamed = { type: 'not_so_short' }
      t.equal((await call(`PATCH /v1/providers/${one}/event-definitions/${body.id}`, renamed)).status, 200)
      t.match(await call(`PATCH /v1/providers/${one}`, { is_enabled: false }), {
        status: 200,
        body: { is_enabled: false, settings: { request_mapping: { type_matchers: [renamed] } } },
      })
    },
  )

  await t.test('settings may be 64 KB of matchers', async (t) => {
    const type_matchers: object[] = []
    for (let n = 0; JSON.stringify({ request_mapping: { type_matchers } }).length < 65_000; n++)
      type_matchers.push({ path: `data.kind${n}`, equals: `${n}`, type: `t_${n}` })
    const id = await provider({ settings: { request_mapping: { type_matchers } } })
    t.same((await call(`GET /v1/providers/${id}`)).body.settings.request_mapping, { type_matchers })
  })

  await t.test('a renaming changes nothing else in a rule', async (t) => {
    const rule = {
      source: 'product_events',
      rule: {
        any: [
          { field: 'product_title', op: '=', value: 'a' },
          { not: { field: 'event_kind', op: 'contains', value: 'a' } },
        ],
      },
    }
    t.equal(renamedIn(rule, 'a', 'b'), rule)
    const list = { source: 'product_events', field: 'event_kind', op: 'notIn', value: ['b', 'a'] }
    t.same(renamedIn(list, 'a', 'b').value, ['b'])
  })

  await t.test('a brand has 200, of all its providers', async (t) => {
    const { brand, call, provider } = await shop(t, db)
    const [one, other] = [await provider(), await provider()]
    await db.postgres.sql`
      insert into event_definition (brand_id, id, provider_id, type, name, payload_schema, identifier_mappings)
      select ${brand.id}, gen_random_uuid(), ${one}, 'type_' || n, 'A type', '{}', '{}' from generate_series(1, 199) as n`
    const make = (type: string) => call(`POST /v1/providers/${other}/event-definitions`, stamp({ type }))
    t.equal((await make('last')).status, 200)
    t.hasStrict(await make('one_more'), { status: 409, body: { error: { code: 'limit_reached' } } })
    t.hasStrict(await call('POST /v1/providers', { name: 'Templated', source_template_key: 'generic' }), {
      status: 409,
      body: { error: { code: 'limit_reached' } },
    })
  })

  await t.test('one of another provider is none', async (t) => {
    const [one] = (await call(`GET ${path}`)).body.data
    const other = await provider()
    t.match(await call(`GET /v1/providers/${other}/event-definitions/${one.id}`), { status: 404 })
    t.match(await call(`GET /v1/providers/${UNKNOWN}/event-definitions`), { status: 404 })
    t.match(await call(`POST /v1/providers/${UNKNOWN}/event-definitions`, stamp()), { status: 404 })
  })
})

t.test('source templates', async (t) => {
  const { call } = await shop(t, await database(t))
  for (const { key, event_definitions } of sourceTemplates().values()) {
    for (const { payload_schema } of event_definitions) checkSchema(payload_schema)
    const { body } = await call('POST /v1/providers', { name: key, source_template_key: key })
    const { data } = (await call(`GET /v1/providers/${body.id}/event-definitions`)).body
    t.match(
      data,
      event_definitions.map((one) => ({ ...one, source_template_key: key })),
      key,
    )
  }
  const { status, body } = await call('POST /v1/providers', { name: 'x', source_template_key: 'none' })
  t.equal(status, 400)
  t.match(body.error.message, [...sourceTemplates().keys()].join(', '))
})

t.test('event types', async (t) => {
  const { call, provider } = await shop(t, await database(t))
  const id = await provider()
  await call(`POST /v1/providers/${id}/event-definitions`, stamp())
  await call(`POST /v1/providers/${id}/event-definitions`, stamp({ type: 'off', is_enabled: false }))
  const { data } = (await call('GET /v1/event-types')).body
  t.equal(EVENT_TYPES.length, 26)
  t.same(
    data.map((one: { event_type: string }) => one.event_type),
    [...EVENT_TYPES.map((one) => one.event_type), 'stamp_given'],
  )
  t.same(data.at(-1), {
    event_type: 'stamp_given',
    group: 'custom',
    description: 'Stamp given',
    provider_id: id,
    schema: stamp().payload_schema,
  })
  t.equal(SERVICE_EVENT_TYPES.size, 9)
  t.ok(PREDEFINED_TRIGGERS.includes('checkout_abandoned'))
  for (const { schema } of EVENT_TYPES) t.doesNotThrow(() => checkSchema({ ...schema }))
})

t.test('integrations', async (t) => {
  const { brand, call, provider } = await shop(t, await database(t))
  const id = await provider({ is_enabled: false, key: 'off' })
  const { data } = (await call('GET /v1/integrations')).body
  t.match(data, [
    {
      id: brand.id,
      integration_id: brand.shop_domain,
      provider: 'shopify',
      status: 'connected',
      enabled: true,
    },
    { id, provider: 'off', status: 'disabled', enabled: false },
  ])
})

t.test('recoup provider', async (t) => {
  const db = await database(t)
  const brand = await makeBrand(db)
  const dataDir = mkdtempSync(join(tmpdir(), 'recoup-providers-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const run = async (...args: string[]) => {
    const said = { out: '', err: '' }
    const code = await main(['provider', ...args, '--json'], {
      env: { DATABASE_URL: db.url, DATA_DIR: dataDir, WEBHOOK_URL: WEBHOOK_ORIGIN },
      out: (text) => {
        said.out += text
      },
      err: (text) => {
        said.err += text
      },
    })
    return { code, err: said.err, document: said.out ? JSON.parse(said.out) : undefined }
  }
  const of = ['--brand', brand.shop_domain]
  const create = ['create', ...of, '--name', 'Stamp Club', '--template', 'loyalty_points']
  const secretOf = async (id: string) => {
    const [row] = await db.postgres.sql`select webhook_secret from provider where id = ${id}`
    return openSeal({ secretKey: null, dataDir }).open(row?.webhook_secret, secretPlace(id)).toString()
  }

  const { document: made } = await run(...create)
  t.match(made, { key: 'stamp_club', webhook_url: `${WEBHOOK_ORIGIN}/custom/${made.lookup_id}` })
  t.equal(await secretOf(made.id), made.webhook_secret)
  t.match(await run(...create), { code: 1, err: /--key: .*stamp_club" exists already: give another --key/ })
  const again = await run(...create, '--if-missing')
  t.match(again, { code: 0, document: { id: made.id, webhook_url: made.webhook_url } })
  t.notOk('webhook_secret' in again.document)

  const { document: rotated } = await run('rotate-secret', ...of, '--provider', 'stamp_club')
  t.equal(rotated.webhook_url, made.webhook_url, 'the address stays')
  t.not(rotated.webhook_secret, made.webhook_secret)
  t.equal(await secretOf(made.id), rotated.webhook_secret)
  t.match(await run('disable', ...of, '--provider', made.lookup_id), { document: { is_enabled: false } })
  t.match(await run('list', ...of), { document: { data: [{ id: made.id, is_enabled: false }] } })
  t.match(await run('enable', ...of, '--provider', made.id), { document: { is_enabled: true } })
  t.match(await run('enable', ...of, '--provider', 'none'), { code: 1, err: /Known: stamp_club/ })
  t.match((await run('templates')).document.data.length, 4)
})

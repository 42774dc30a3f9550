import t, { type Test } from 'tap'
import { createSeal } from '../src/access/seal.ts'
import { addDiscount } from '../src/campaign/discount.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import { inputSchema } from '../src/http/json-schema.ts'
import type { Brand } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { createSegment } from '../src/segment/saved.ts'
import { api, SEAL_KEY, WEBHOOK_ORIGIN } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

t.capture(process.stderr, 'write')

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
/** Everything that the contract says of a created draft, and nothing else. */
const DRAFT = [
  'id',
  'name',
  'type',
  'status',
  'is_paused',
  'draft',
  'editor_url',
  'trigger',
  'variables',
  'action_type',
  'wait',
  'trigger_delay',
  'cart_link',
  'discount',
  'messages',
  'split',
  'starts_at',
  'ends_at',
  'note',
]
const HELLO = 'Hi {{contact.first_name|there}}: {{checkout.url}} Reply STOP to opt out.'
const LEAST = { trigger_event: 'checkout_abandoned', action_type: 'agent' }

const db = await database(t)
const made = await api(t, db, OPS)
const brand = await newBrand(db, { features: ['cdp'] })
const user = made.signIn(brand)
const call = (route: string, body?: object, as: string | null = user) => made.call(route, { as, body })
const create = async (body: object = {}) =>
  (await call('POST /v1/campaigns', { ...LEAST, ...body })).body as Record<string, never> & { id: string }
const turn = (campaign_id: string, status: string, more: object = { confirm: true }) =>
  made.tool('set_campaign_status', { campaign_id, status, ...more }, { as: user })
const versionsOf = async (id: string) =>
  await db.postgres.sql<{ version: number; definition: { trigger_event: string } }[]>`
    select version, definition from campaign_version where campaign_id = ${id} order by version`

const refused = async (t: Test, body: object, message: RegExp | string, route = 'POST /v1/campaigns') => {
  const answer = await call(route, route.startsWith('POST') ? { ...LEAST, ...body } : body)
  t.match(answer, { status: 400, body: { error: { code: 'bad_request', message } } })
}

/** A provider of the brand with an event type. */
const provider = async (of: Brand, name: string, type: string) => {
  const making = { seal: createSeal(SEAL_KEY), webhookUrl: WEBHOOK_ORIGIN, withKey: false }
  const { id } = await createProvider(db.postgres.forBrand(of.id), { name }, making)
  const key = await made.key(of, ['providers:read', 'providers:write'])
  const definition = await made.call(`POST /v1/providers/${id}/event-definitions`, {
    as: key,
    body: {
      type,
      name: `${name} event`,
      payload_schema: {
        type: 'object',
        properties: { id: { type: 'string' }, email: { type: 'string' }, points: { type: 'integer' } },
      },
      identifier_mappings: { external_id_path: 'id', email_path: 'email' },
    },
  })
  const change = (body: object) =>
    made.call(`PATCH /v1/providers/${id}/event-definitions/${definition.body.id}`, { as: key, body })
  return { id, rename: (to: string) => change({ type: to }), disable: () => change({ is_enabled: false }) }
}

const saveSegment = (name: string) =>
  createSegment(db.postgres.forBrand(brand.id), {
    name,
    definition: { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } },
    createdBy: 'test',
  })

t.test('a campaign is created as a paused draft with everything that the contract shows', async (t) => {
  const { status, body } = await call('POST /v1/campaigns', LEAST)
  t.equal(status, 200)
  t.same(Object.keys(body).sort(), [...DRAFT].sort())
  t.match(body, {
    name: 'Checkout abandoned',
    type: 'checkout_recovery',
    status: 'draft',
    is_paused: true,
    draft: true,
    action_type: 'agent',
    trigger: { kind: 'predefined', event: 'checkout_abandoned', label: 'Checkout abandoned' },
    trigger_delay: { amount: 30, unit: 'minutes', minutes: 30 },
    wait: { amount: 1, unit: 'days' },
    cart_link: { type: 'checkout', url: null },
    discount: null,
    split: { branches: [] },
    starts_at: null,
    note: /set_campaign_status/,
    messages: { initial: /STOP/, agent_reply: String, sms: /STOP/ },
    editor_url: new RegExp(`^http://localhost/campaigns/${body.id}$`),
  })
  t.ok(body.variables.some(({ token }: { token: string }) => token === '{{checkout.url}}'))
})

t.test('what is sent is kept, completed, and read back with its version', async (t) => {
  const sent = {
    name: ' Over fifty ',
    type: 'checkout_recovery',
    messages: { initial: HELLO },
    trigger_delay: { amount: 2, unit: 'hours' },
    wait: { amount: 0, unit: 'minutes' },
    cart_link: { type: 'url', url: 'https://shop.example.com/sale?a=b' },
    filters: [
      { field: 'event.total', operator: '>=', value: '50.00' },
      { field: 'customer_profile.orders_count', operator: '<', value: 3 },
      { field: 'customer_attributes.attributes.plan', operator: 'missing' },
    ],
    split: {
      branches: [
        { name: 'A', weight: 1 },
        { name: 'B', weight: 3, messages: { initial: `Salut! ${HELLO}` } },
      ],
    },
    starts_at: '2026-12-01T08:00:00+01:00',
    ends_at: '2026-12-31T00:00:00Z',
  }
  const { id } = await create(sent)
  const { status, body } = await call(`GET /v1/campaigns/${id}`)
  t.equal(status, 200)
  t.match(body, {
    name: 'Over fifty',
    type: 'checkout_recovery',
    trigger_delay: { amount: 2, unit: 'hours', minutes: 120 },
    wait: sent.wait,
    cart_link: sent.cart_link,
    messages: { initial: HELLO, sms: HELLO },
    starts_at: '2026-12-01T07:00:00.000Z',
    version: 1,
    provider_id: null,
  })
  t.same(body.filters, sent.filters)
  const [first, second] = body.split.branches
  t.match(first, { name: 'A', weight: 1, messages: { initial: HELLO } })
  t.match(second, { name: 'B', weight: 3, messages: { initial: `Salut! ${HELLO}`, sms: HELLO } })
})

t.test('the number of a filter keeps every digit, over REST and by the tool', async (t) => {
  const { id: provider_id } = await provider(brand, 'Long numbers', 'long_number')
  const filters = '[{"field":"event.points","operator":"=","value":9007199254740993}]'
  const text = `{"trigger_event":"long_number","provider_id":"${provider_id}","action_type":"agent","filters":${filters}}`
  const { body, text: created } = await made.call('POST /v1/campaigns', { as: user, text })
  t.notMatch(created, 'error')
  const route = `/v1/campaigns/${body.id}`
  t.match((await call(`GET ${route}`)).text, `"filters":${filters}`)
  t.match((await made.tool('get_campaign', { campaign_id: body.id }, { as: user })).text, filters)
  const changed = filters.replace('993', '995')
  const patched = await made.call(`PATCH ${route}`, { as: user, text: `{"filters":${changed}}` })
  t.match(patched.text, `"filters":${changed}`)
  t.match((await call(`PATCH ${route}`, { name: 'Renamed' })).text, `"filters":${changed}`)
  const misplaced = `{"messages":${'9'.repeat(20)}}`
  t.match(await made.call(`PATCH ${route}`, { as: user, text: misplaced }), {
    status: 400,
    body: { error: { message: 'messages must be an object' } },
  })
})

t.test('the list has all campaigns of a status, archived ones only with include_historical', async (t) => {
  const mine = await newBrand(db)
  const as = made.signIn(mine)
  const one = (await call('POST /v1/campaigns', LEAST, as)).body
  const other = (await call('POST /v1/campaigns', { ...LEAST, name: 'Later' }, as)).body
  await made.tool('set_campaign_status', { campaign_id: one.id, status: 'archived', confirm: true }, { as })
  const listed = async (query: string) => {
    const { body } = await call(`GET /v1/campaigns${query}`, undefined, as)
    t.equal(body.next_cursor, null)
    return body.data.map(({ id }: { id: string }) => id)
  }
  t.same((await call('GET /v1/campaigns', undefined, as)).body.data, [
    { id: other.id, name: 'Later', type: 'checkout_recovery', status: 'draft', is_paused: true },
  ])
  t.same(await listed('?include_historical=true'), [other.id, one.id])
  t.same(await listed('?include_historical=true&status=archived'), [one.id])
  t.same(await listed('?status=archived'), [])
  t.same(await listed('?status=active'), [])
})

t.test('the schema says which message is sent when', async (t) => {
  const { body } = OPS.find(({ name }) => name === 'create_campaign')?.input ?? {}
  const { initial, agent_reply, sms } = (body && inputSchema(body).properties?.messages?.properties) ?? {}
  t.match(
    [initial, agent_reply, sms],
    [
      { description: /actions agent and email/ },
      { description: /whoever writes back/ },
      { description: /action sms/ },
    ],
  )
})

t.test('unknown fields are named, however deep they stand', async (t) => {
  await refused(t, { splitt: {} }, /"splitt" is not a field of this body/)
  const known = 'is not a field of this body. Known: initial, agent_reply, sms'
  await refused(t, { messages: { email: 'Hi' } }, `messages.email ${known}`)
  const branches = [{ name: 'A', weight: 1, messages: { email: 'Hi' } }]
  await refused(t, { split: { branches } }, `split.branches[0].messages.email ${known}`)
  await refused(t, { messages: { inital: HELLO } }, /messages.inital/)
  await refused(t, { filters: [{ field: 'carts.total', op: '>', value: 1 }] }, /filters\[0\]/)
  await refused(
    t,
    { wait: { amount: 1, unit: 'fortnights' } },
    'wait.unit must be one of minutes, hours, days',
  )
  await refused(t, { wait: { amount: 91, unit: 'days' } }, 'wait: must be at most 90 days')
  await refused(t, { action_type: 'fax' }, 'action_type must be one of agent, sms, email')
  await refused(t, { cart_link: { type: 'url', url: 'javascript:alert(1)' } }, /^cart_link.url: must/)
  await refused(t, { cart_link: { type: 'checkout', url: 'https://x.example' } }, /^cart_link.url: is for/)
  await refused(t, { discount_id: UNKNOWN }, /^discount_id: there is no/)
  await refused(
    t,
    { starts_at: '2026-12-02T00:00:00Z', ends_at: '2026-12-01T00:00:00Z' },
    /^ends_at: must be later/,
  )
  // The year 10000 in UTC.
  await refused(t, { ends_at: '9999-12-31T23:59:59-05:00' }, /^ends_at must be an ISO 8601 time/)
})

t.test('a trigger, a field or an operator that is none is refused with the nearest one', async (t) => {
  await refused(t, { trigger_event: 'checkout_abandonned' }, /Did you mean "checkout_abandoned"\?/)
  const filter = (field: string, operator: string, value?: unknown) => ({
    filters: [
      { field: 'carts.total', operator: '>', value: 1 },
      { field, operator, value },
    ],
  })
  await refused(
    t,
    filter('customer_profile.totl_spend', '>', 1),
    /^filters\[1\]\.field: .*Did you mean "customer_profile.total_spend"\?/,
  )
  await refused(
    t,
    filter('customer_profile.total_spend', 'greatrThan', 'x'),
    /^filters\[1\]\.operator: .*Did you mean "greaterThan"/,
  )
  await refused(
    t,
    filter('customer_profile.total_spend', '>', 'much'),
    /^filters\[1\]\.value: must be a number/,
  )
  await refused(t, filter('event.total', 'startsWith', '1'), /^filters\[1\]\.operator/)
  await refused(t, filter('event.total', '>'), /^filters\[1\]\.value: is required/)
  await refused(t, filter('segment.id', '=', UNKNOWN), /no active segment with the id/)
  await refused(t, filter('segment.id', '>', UNKNOWN), /^filters\[1\]\.operator/)
})

t.test('an address that would lead nowhere is refused', async (t) => {
  const initial = (text: string) => ({ messages: { initial: `${text} STOP` } })
  for (const [text, behind] of [
    ['{{cart.link}}?utm_source=sms', '?utm_source=sms'],
    ['{{ cart.link | x }}/a.', '/a'],
    ['{{checkout.url}}{{contact.first_name}}', '{{contact.first_name}}'],
    ['{{cart.link}}.{{opt_out.link}}', '.{{opt_out.link}}'],
    ['{{opt_out.link}}Bye', 'Bye'],
  ] as const) {
    const { status, body } = await call('POST /v1/campaigns', { ...LEAST, ...initial(text) })
    t.equal(status, 400)
    const { message } = body.error
    t.ok(message.startsWith(`messages.initial: ${JSON.stringify(behind)} behind {{`), message)
  }
  await refused(t, initial('https://a.example/{{cart.link}}'), /^messages\.initial: .* is a whole link/)
  for (const text of ['https://{{brand.name}}.example/', 'https://a.example{{brand.name}}'])
    await refused(t, initial(text), /^messages\.initial: .* behind its host only/)
})

t.test('punctuation and other scripts may follow a link, and variables an address', async (t) => {
  const texts = ['({{cart.link}}).', '{{cart.link}}?! Bye', '{{cart.link}}。はい', '"{{cart.link}}"']
  for (const text of [...texts, 'https://a.example/?a={{brand.name}}.', '{{brand.url}}a'])
    t.equal((await create({ messages: { initial: `${text} STOP` } })).draft, true, text)
})

t.test('a variable that is none is refused with the nearest one', async (t) => {
  const initial = (text: string) => ({ messages: { initial: `${text} STOP` } })
  await refused(
    t,
    initial('{{contact.frist_name}}'),
    /^messages\.initial: "\{\{contact\.frist_name\}\}" is not a variable\. Did you mean "\{\{contact\.first_name\}\}"\?/,
  )
  await refused(t, initial('{{discount.code}}'), /\{\{discount\.code\}\} needs the campaign’s discount_id/)
  await refused(t, initial('{{contact.first_name'), /without the other pair of braces/)
  await refused(
    t,
    { trigger_event: 'customer_winback', ...initial('{{checkout.url}}') },
    /needs a trigger that tells of a checkout/,
  )
  await refused(
    t,
    { split: { branches: [{ name: 'A', weight: 1, messages: { sms: '{{x}}' } }] } },
    /^split\.branches\[0\]\.messages\.sms: /,
  )
})

t.test('a message is neither empty nor too long, and the first one says how to opt out', async (t) => {
  await refused(t, { messages: { initial: 'Hi' } }, /^messages\.initial: must say how to opt out/)
  await refused(t, { action_type: 'sms', messages: { sms: 'Hi' } }, /^messages\.sms: must say how/)
  await refused(
    t,
    { action_type: 'email', messages: { initial: 'Hi. Reply STOP.' } },
    /opt out: add \{\{opt_out\.link\}\}/,
  )
  await refused(
    t,
    { action_type: 'email', messages: { initial: 'Subject: Bye {{opt_out.link}}\nHi' } },
    /^messages\.initial: must say how/,
  )
  await refused(t, { messages: { sms: 'Hi' } }, /^messages\.sms: must say how/)
  await refused(t, { messages: { sms: '{{x}} STOP' } }, /^messages\.sms: /)
  await refused(t, { action_type: 'sms', messages: { initial: 'Hi' } }, /^messages\.initial: must say how/)
  await refused(t, { messages: { initial: ' ' } }, /^messages\.initial: must have 1 to 1600 characters/)
  await refused(t, { messages: { agent_reply: 'x'.repeat(1_601) } }, /^messages\.agent_reply: must have/)
  t.equal((await call('POST /v1/campaigns', { ...LEAST, action_type: 'email' })).status, 200)
  const longest = `${'😀'.repeat(1_595)} STOP`
  t.equal((await call('POST /v1/campaigns', { ...LEAST, messages: { initial: longest } })).status, 200)
})

t.test(
  'a campaign has the type of its predefined trigger, and a split has two branches or more',
  async (t) => {
    await refused(
      t,
      { type: 'winback' },
      'type: checkout_abandoned starts campaigns of the type checkout_recovery',
    )
    await refused(t, { split: { branches: [{ name: 'A', weight: 1 }] } }, /^split\.branches: must be 2 to 5/)
    const { id } = await create({ type: 'checkout_recovery' })
    const change = (body: object) => call(`PATCH /v1/campaigns/${id}`, body)
    t.match(await change({ type: 'segment' }), { status: 400, body: { error: { message: /^type: / } } })
    t.match(
      await change({
        trigger_event: 'customer_winback',
        messages: { initial: 'Hi. STOP', sms: 'Hi. STOP', agent_reply: 'Hi' },
      }),
      {
        status: 200,
        body: { type: 'winback', trigger: { event: 'customer_winback' } },
      },
    )
    const own = await provider(brand, 'Quizzes', 'quiz_done')
    const meant = { trigger_event: 'quiz_done', provider_id: own.id, type: 'winback' }
    t.match(await call('POST /v1/campaigns', { ...LEAST, ...meant }), {
      status: 200,
      body: { type: 'winback' },
    })
  },
)

t.test('a change is the next version, and earlier ones stay as they were', async (t) => {
  const { id } = await create({ messages: { initial: HELLO } })
  const route = `PATCH /v1/campaigns/${id}`
  const changed = await call(route, { wait: { amount: 2, unit: 'days' }, version: 1 })
  t.match(changed, { status: 200, body: { version: 2, wait: { amount: 2 }, messages: { initial: HELLO } } })
  t.match(await call(route, { wait: null, version: 1 }), {
    status: 409,
    body: { error: { code: 'conflict' } },
  })
  t.match((await call(route, { wait: null })).body, { version: 3, wait: { amount: 1, unit: 'days' } })
  t.match(
    (await call(route, { name: 'Other' })).body,
    { version: 3, name: 'Other' },
    'its name is no version',
  )
  t.match(
    (await call(route, { trigger_event: 'customer_winback', messages: { initial: 'STOP', sms: 'STOP' } }))
      .body,
    {
      version: 4,
      trigger: { event: 'customer_winback' },
      cart_link: { type: 'cart' },
    },
  )
  t.same(
    (await versionsOf(id)).map(({ definition }) => definition.trigger_event),
    ['checkout_abandoned', 'checkout_abandoned', 'checkout_abandoned', 'customer_winback'],
  )
  await t.rejects(db.postgres.sql`update campaign_version set definition = '{}' where campaign_id = ${id}`, {
    code: '23514',
  })
})

t.test('a branch that leaves a message out says that of the campaign, also once that changes', async (t) => {
  const branches = [
    { name: 'as ever', weight: 1 },
    { name: 'own', weight: 1, messages: { initial: `Own. ${HELLO}` } },
  ]
  const { id } = await create({ messages: { initial: HELLO }, split: { branches } })
  const { body } = await call(`PATCH /v1/campaigns/${id}`, { messages: { initial: `New. ${HELLO}` } })
  t.same(
    body.split.branches.map(({ messages }: { messages: { initial: string } }) => messages.initial),
    [`New. ${HELLO}`, `Own. ${HELLO}`],
  )
})

t.test(
  'a text that is still the default follows the trigger and the action, what somebody wrote stays',
  async (t) => {
    const branches = [
      { name: 'as ever', weight: 1 },
      { name: 'own', weight: 1, messages: { initial: 'Own: {{opt_out.link}} or STOP' } },
    ]
    const other = { trigger_event: 'order_created', action_type: 'email' }
    const { id } = await create({ split: { branches } })
    const { body } = await call(`PATCH /v1/campaigns/${id}`, {
      ...other,
      messages: { sms: 'Mine: {{opt_out.link}}' },
    })
    const usual = await create(other)
    const messages = { ...(usual.messages as unknown as object), sms: 'Mine: {{opt_out.link}}' }
    t.same(body.messages, messages)
    t.same(
      body.split.branches.map((branch: { messages: object }) => branch.messages),
      [messages, { ...messages, initial: 'Own: {{opt_out.link}} or STOP' }],
    )
  },
)

t.test(
  'a text that is the default names the discount of its campaign, as long as there is one',
  async (t) => {
    const of = db.postgres.forBrand(brand.id)
    const rest = { prefix: null, minimum_type: null, minimum_value: null, duration_days: null }
    const ten = { name: 'Default text', type: 'percentage', value: '10', code: 'TEN', ...rest } as const
    const { id: discount_id } = await addDiscount(of, ten)
    const usual = await create()
    const { id, messages } = await create({ discount_id })
    t.match(messages, { initial: /\{\{discount\.value\}\}.*\{\{discount\.code\}\}/ })
    const change = async (body: object) => (await call(`PATCH /v1/campaigns/${id}`, body)).body.messages
    t.same(await change({ discount_id: null }), usual.messages)
    t.same(await change({ discount_id }), messages)
  },
)

t.test('the default answer of an agent tells of no cart, which not every trigger has', async (t) => {
  const { messages } = await create({ trigger_event: 'order_created' })
  t.notMatch(messages, { agent_reply: /cart is/ })
})

t.test('a change to null takes the default of whatever has one', async (t) => {
  const branches = ['A', 'B'].map((name) => ({ name, weight: 1 }))
  const filters = [{ field: 'event.total', operator: '>', value: 5 }]
  const sent = { name: 'Own', messages: { initial: HELLO }, filters, split: { branches } }
  const { id } = await create(sent)
  const usual = await create()
  const none = { name: null, type: null, messages: null, filters: null, split: null }
  const { status, body } = await call(`PATCH /v1/campaigns/${id}`, none)
  t.equal(status, 200)
  const shown = ({ name, type, messages, filters: kept, split }: typeof body) => [
    ...[name, type, messages, kept, split],
  ]
  t.same(shown(body), shown((await call(`GET /v1/campaigns/${usual.id}`)).body))
})

t.test('a campaign is turned on, paused and archived with a confirmation', async (t) => {
  const { id } = await create()
  const answer = async (status: string, more?: object) => (await turn(id, status, more)).body.result
  const text = async (status: string, more?: object) =>
    ((await turn(id, status, more)).body.error ?? (await answer(status, more))).message ??
    (await answer(status, more)).content[0].text
  t.match(await text('active', {}), /confirm/)
  t.match(await text('active', { confirm: false }), /confirm must be true/)
  t.match(await text('paused'), /is a draft/)
  t.match((await answer('active')).structuredContent, { status: 'active', is_paused: false, draft: false })
  t.match((await answer('paused')).structuredContent, { status: 'paused', is_paused: true })
  t.match((await answer('active')).structuredContent, { status: 'active' })
  t.match((await answer('archived')).structuredContent, { status: 'archived', is_paused: true })
  t.match(await text('active'), /is archived, for good/)
  t.match(await call(`PATCH /v1/campaigns/${id}`, { name: 'x' }), { status: 409 })
  t.match(await call(`GET /v1/campaigns/${id}`), { status: 200, body: { status: 'archived' } })
})

t.test('a campaign that is over is not turned on', async (t) => {
  const { id } = await create({ ends_at: '2020-01-01T00:00:00Z' })
  t.match(JSON.stringify((await turn(id, 'active')).body), /ends_at: the campaign is over/)
})

/** A campaign that is on, and whose time has passed meanwhile. */
const ended = async () => {
  const { id } = await create()
  await turn(id, 'active')
  await call(`PATCH /v1/campaigns/${id}`, { ends_at: '2020-01-01T00:00:00Z' })
  return id
}

t.test(
  'a change turns on no campaign that is over: another end conflicts, another name does not',
  async (t) => {
    const id = await ended()
    const message = /^ends_at: .* pause it with set_campaign_status, change it, then turn it on again$/
    for (const ends_at of [null, '2099-01-01T00:00:00Z'])
      t.match(await call(`PATCH /v1/campaigns/${id}`, { ends_at }), {
        status: 409,
        body: { error: { message } },
      })
    t.match(await call(`PATCH /v1/campaigns/${id}`, { name: 'Over' }), {
      status: 200,
      body: { name: 'Over' },
    })
  },
)

t.test('a campaign that is over gets a later end while it is paused, and is turned on again', async (t) => {
  const id = await ended()
  await turn(id, 'paused')
  t.match(await call(`PATCH /v1/campaigns/${id}`, { ends_at: null }), { status: 200 })
  t.match((await turn(id, 'active')).body.result.structuredContent, { status: 'active', ends_at: null })
})

t.test(
  'a campaign whose event type was disabled since is not turned on: it conflicts with that',
  async (t) => {
    const { id: provider_id, disable } = await provider(brand, 'Gone', 'gone_since')
    const { id } = await create({
      trigger_event: 'gone_since',
      provider_id,
      messages: { initial: 'Hi. STOP' },
    })
    t.equal((await disable()).status, 200)
    t.match((await turn(id, 'active')).body.result, {
      isError: true,
      content: [{ text: /^conflict: trigger_event: "gone_since" is not a trigger of this brand/ }],
    })
    t.match((await call(`GET /v1/campaigns/${id}`)).body, { status: 'draft', is_paused: true })
  },
)

t.test('an event type of the brand starts campaigns, and takes them along when it is renamed', async (t) => {
  const club = await provider(brand, 'Club', 'points_earned')
  const of = {
    trigger_event: 'points_earned',
    messages: { initial: 'You have {{event.points}} points. STOP' },
  }
  const before = await create({ ...of, filters: [{ field: 'event.points', operator: '>', value: 10 }] })
  t.match(before, { type: 'custom_event', trigger: { kind: 'custom', label: 'Club event' } })

  const shop = await provider(brand, 'Shop', 'points_earned')
  await refused(t, of, /^provider_id: is required, since several providers/)
  await refused(t, { ...of, provider_id: UNKNOWN }, /^provider_id: no enabled provider/)
  await refused(t, { provider_id: club.id }, /^provider_id: checkout_abandoned comes from no provider/)
  const theirs = await create({ ...of, provider_id: shop.id })

  t.equal((await club.rename('stars_earned')).status, 200)
  const trigger = async (id: string) => (await call(`GET /v1/campaigns/${id}`)).body
  t.match(await trigger(before.id), { trigger: { event: 'stars_earned' }, provider_id: club.id, version: 2 })
  t.match(await trigger(theirs.id), { trigger: { event: 'points_earned' }, provider_id: shop.id, version: 1 })
  t.same(
    (await versionsOf(before.id)).map(({ definition }) => definition.trigger_event),
    ['points_earned', 'stars_earned'],
  )
})

t.test('filters that name an event type follow its new name', async (t) => {
  const one = await provider(brand, 'Quiz', 'quiz_taken')
  const kind = (operator: string, value: unknown) => ({ field: 'product_events.event_kind', operator, value })
  const { id } = await create({ filters: [kind('=', 'quiz_taken'), kind('in', ['a', 'quiz_taken'])] })
  await one.rename('test_taken')
  t.same((await call(`GET /v1/campaigns/${id}`)).body.filters, [
    kind('=', 'test_taken'),
    kind('in', ['a', 'test_taken']),
  ])
})

t.test('segment_entered asks for the segment, which stays as long as the campaign', async (t) => {
  const segment = await saveSegment('Buyers')
  const entered = (value: string) => ({
    trigger_event: 'segment_entered',
    filters: [{ field: 'event.segment_id', operator: '=', value }],
  })
  await refused(t, { trigger_event: 'segment_entered' }, /^filters: must say which segment/)
  await refused(t, entered(UNKNOWN), /no active segment/)
  const campaign = await create({ ...entered(segment.id), name: 'Welcome' })
  t.match(campaign, { type: 'segment', cart_link: { type: 'cart' } })
  const archive = () => call(`POST /v1/segments/${segment.id}/archive`)
  t.match(await archive(), { status: 409, body: { error: { message: /is used by the campaign "Welcome"/ } } })
  const other = await create(entered(segment.id))
  await turn(other.id, 'archived')
  await db.postgres.sql`update segment set status = 'archived' where id = ${segment.id}`
  const route = `PATCH /v1/campaigns/${campaign.id}`
  t.match(await call(route, { name: 'Hello' }), { status: 200, body: { name: 'Hello', version: 1 } })
  t.match(
    await call(route, { wait: null, messages: { sms: 'STOP' } }),
    { status: 400 },
    'what is gone is told',
  )
  await db.postgres.sql`update segment set status = 'active' where id = ${segment.id}`
  await turn(campaign.id, 'archived')
  t.equal((await archive()).status, 200)
})

t.test('composer options have what a campaign can be made of', async (t) => {
  const plain = await call('GET /v1/campaigns/composer-options')
  t.equal(plain.status, 200)
  t.same(Object.keys(plain.body).sort(), [
    'discount_rules',
    'filters',
    'message_rules',
    'message_variables',
    'message_variants',
    'trigger_events',
  ])
  t.equal(plain.body.filters.trigger_event, null)
  t.ok(
    plain.body.trigger_events.custom.some(
      ({ slug, provider }: { slug: string; provider: string }) =>
        slug === 'stars_earned' && provider === 'Club',
    ),
  )
  const { body } = await call('GET /v1/campaigns/composer-options?trigger_event=stars_earned')
  const fields = body.filters.fields as { field: string; fact: string; operators: object[] }[]
  t.match(
    fields.find(({ field }) => field === 'event.points'),
    { fact: 'event', path: 'points', group: 'Trigger', value_type: 'number' },
  )
  t.ok(fields.every(({ operators }) => operators.length > 0))
  await refused(
    t,
    {},
    /Did you mean "stars_earned"/,
    'GET /v1/campaigns/composer-options?trigger_event=star_earned',
  )
})

t.test('every field that the composer offers is taken with every operator that it offers', async (t) => {
  await saveSegment('Named by a filter')
  const { body } = await call('GET /v1/campaigns/composer-options?trigger_event=checkout_abandoned')
  const samples: Record<string, unknown> = {
    number: 1,
    money: '1.50',
    time: '2026-01-01T00:00:00Z',
    boolean: true,
  }
  const sampleOf = (operator: string, type: string, values: { value: string }[] | null) => {
    if (/Last$/.test(operator)) return { days: 7 }
    if (/^(before|after)$/.test(operator)) return samples.time
    const one = values?.[0]?.value ?? samples[type] ?? (/[<>]|between/.test(operator) ? 1 : 'x')
    if (/^(in|notIn)$/.test(operator)) return [one]
    return operator === 'between' ? [one, one] : one
  }
  const filters = body.filters.fields.flatMap(
    ({ field, value_type, operators, values }: (typeof body.filters.fields)[number]) =>
      operators.map(({ operator }: { operator: string }) => ({
        field: field.replace('<name>', 'plan'),
        operator,
        ...(/^(exists|missing)$/.test(operator) ? {} : { value: sampleOf(operator, value_type, values) }),
      })),
  )
  t.ok(filters.length > 200)
  for (let from = 0; from < filters.length; from += 50) {
    const answer = await call('POST /v1/campaigns', { ...LEAST, filters: filters.slice(from, from + 50) })
    t.equal(answer.status, 200, JSON.stringify(answer.body.error))
  }
})

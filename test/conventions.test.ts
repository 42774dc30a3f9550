import t from 'tap'
import type { Op } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { leastInput, routeOf, takesBody } from './fixtures/op-input.ts'
import { noting } from './fixtures/statements.ts'
import { leastRoute } from './fixtures/tenancy.ts'

t.capture(process.stderr, 'write')

/** What holds for the route of every operation, also of those that are added later. */
const db = await database(t)
const features = ['cdp', 'beta:cdp-commerce']
const brand = await makeBrand(db, { features })
const other = await makeBrand(db, { features })
const statements: string[] = []
const made = await api(t, db, OPS, {
  db: (brandId) => noting(db.postgres.forBrand(brandId), (name) => statements.push(name)),
})
const token = made.signIn(brand)
const session = made.signIn(brand, { kind: 'session' })

const routed = OPS.filter(({ route }) => route)
const as = (op: Op) => (op.signIn === 'session' ? session : token)
const at = (route: string, more: string) => `${route}${route.includes('?') ? '&' : '?'}${more}`
const call = (op: Op, route = leastRoute(op), body?: unknown) => made.call(route, { as: as(op), body })
const methodOf = (op: Op) => op.route?.split(' ')[0]

t.test('an unknown parameter of the query is 400 and named, offset like any other', async (t) => {
  for (const op of routed) {
    for (const name of ['offset', 'unknown_one', 'Limit']) {
      if (op.surface === 'cdp' && name === 'offset') continue
      const body = takesBody(op) ? leastInput(op).body : undefined
      t.match(
        await call(op, at(leastRoute(op), `${name}=1`), body),
        { status: 400, body: { error: { code: 'bad_request', message: `"${name}" is not a parameter` } } },
        op.name,
      )
    }
  }
})

t.test('an unknown field of the body is 400 and named', async (t) => {
  for (const op of routed.filter(takesBody)) {
    const body = { ...leastInput(op).body, unknown_one: 1 }
    t.match(
      await call(op, leastRoute(op), body),
      {
        status: 400,
        body: { error: { code: 'bad_request', message: '"unknown_one" is not a field of this body' } },
      },
      op.name,
    )
  }
})

t.test('a body where none is taken may only be empty', async (t) => {
  for (const op of routed.filter((op) => takesBody(op) && !op.input.body))
    t.match(await call(op, leastRoute(op), { any: 1 }), { status: 400 }, op.name)
})

t.test(
  'limit is an integer from 1 to the maximum, beyond which it is refused or reduced as the page rule says',
  async (t) => {
    for (const op of routed) {
      if (!op.page) continue
      const { max, over, under } = op.page
      const limit = (value: string) => call(op, at(leastRoute(op), `limit=${value}`))
      for (const wrong of [...(under ? [] : ['0', '-1']), 'x', '1.5', ''])
        t.match(await limit(wrong), { status: 400, body: { error: { message: /^limit must be/ } } }, op.name)
      const beyond = await limit(String(max + 1))
      if (over === 'refuse')
        t.match(
          beyond,
          { status: 400, body: { error: { message: `limit must be at most ${max}` } } },
          op.name,
        )
      else t.equal(beyond.status, (await limit(String(max))).status, op.name)
      if (under) t.equal((await limit('-1')).status, (await limit('1')).status, op.name)
      t.not((await limit(String(max))).status, 400, op.name)
    }
  },
)

t.test('an id that is not one is 400 and named', async (t) => {
  for (const op of routed) {
    const input = leastInput(op)
    for (const [name, value] of Object.entries(input.path)) {
      if (!/^[0-9a-f-]{36}$/.test(value)) continue
      const route = routeOf(op, { ...input, path: { ...input.path, [name]: 'not-an-id' } })
      const body = takesBody(op) ? leastInput(op).body : undefined
      t.match(
        await call(op, route, body),
        { status: 400, body: { error: { message: `${name} must be a UUID` } } },
        op.name,
      )
    }
  }
})

t.test('HEAD answers as GET without the body', async (t) => {
  for (const op of routed.filter((op) => methodOf(op) === 'GET')) {
    const get = await call(op)
    const head = await call(op, leastRoute(op).replace('GET', 'HEAD'))
    t.equal(head.status, get.status, op.name)
    t.equal(head.text, '')
    for (const header of ['content-type', 'content-length'])
      t.equal(head.headers[header], get.headers[header], op.name)
  }
})

t.test(
  'OPTIONS answers with what is allowed, and another method is 405; neither needs a credential',
  async (t) => {
    const paths = Map.groupBy(routed, (op) => leastRoute(op).split(' ')[1]?.split('?')[0] as string)
    for (const [path, ops] of paths) {
      const methods = ops.map(methodOf)
      const options = await made.call(`OPTIONS ${path}`, { headers: { origin: 'https://shop.example' } })
      t.equal(options.status, 204, path)
      const allowed = options.headers.allow?.split(', ')
      for (const method of methods) t.ok(allowed?.includes(method ?? ''), path)
      t.ok(allowed?.includes('OPTIONS'))
      t.equal(allowed?.includes('HEAD'), methods.includes('GET'), path)
      const wrong = await made.call(`PUT ${path}`)
      t.match(wrong, { status: 405, body: { error: { code: 'method_not_allowed' } } }, path)
      t.equal(wrong.headers.allow, options.headers.allow)
    }
  },
)

t.test('no page of another origin may read an answer', async (t) => {
  for (const op of routed) {
    const { headers } = await made.call(leastRoute(op), {
      as: as(op),
      headers: { origin: 'https://shop.example' },
    })
    t.notOk(
      Object.keys(headers).some((name) => name.startsWith('access-control-')),
      op.name,
    )
  }
})

t.test('every answer has an X-Request-Id, the one that was sent where one was', async (t) => {
  const headers = { 'x-request-id': 'one of mine' }
  for (const op of routed) {
    const route = leastRoute(op)
    for (const sent of [{ as: as(op) }, {}]) {
      t.match((await made.call(route, sent)).headers['x-request-id'], /^[0-9a-f-]{36}$/, op.name)
      t.equal((await made.call(route, { ...sent, headers })).headers['x-request-id'], 'one of mine', op.name)
    }
  }
})

t.test('errors have a code and a message, and nothing else', async (t) => {
  for (const op of routed) {
    const { body } = await made.call(leastRoute(op))
    t.same(Object.keys(body), ['error'])
    t.same(Object.keys(body.error), ['code', 'message'], op.name)
  }
})

/** Every one-bit change, or so many bits apart, and other spellings of the same bytes. */
function altered(cursor: string, apart: number): string[] {
  const bytes = Buffer.from(cursor, 'base64url')
  const flipped = Array.from({ length: Math.ceil((bytes.length * 8) / apart) }, (_, index) => {
    const bit = index * apart
    const copy = Buffer.from(bytes)
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return copy.toString('base64url')
  })
  const digits = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
  const endings = digits.map((last) => cursor.slice(0, -1) + last).filter((one) => one !== cursor)
  const spelled = [
    `${cursor}=`,
    `${cursor}==`,
    `%20${cursor}`,
    `${cursor}%0A`,
    cursor.slice(0, -1),
    `${cursor}A`,
  ]
  const base64 = bytes.toString('base64')
  return [
    ...flipped,
    ...endings,
    ...spelled,
    bytes.toString('hex'),
    ...(base64 === cursor ? [] : [encodeURIComponent(base64)]),
  ]
}

/** A prime, so that bits of every place in a byte change; what is sealed is sealed for all operations alike. */
const APART = 17
const paged = routed.filter(({ page, surface }) => page && surface === 'rest')
for (const [index, op] of paged.entries()) {
  t.test(`a cursor that was not issued for ${op.name} is 400, and no statement ran`, async (t) => {
    const seal = (endpoint: string, brandId: string, filters = {}) =>
      made.cursors.seal(
        { endpoint, brand: brandId, filters },
        { created_at: '2026-01-01T00:00:00Z', id: brandId },
      )
    const wrong = [
      ...altered(seal(op.name, brand.id), index === 0 ? 1 : APART),
      seal(op.name, other.id),
      seal('another_operation', brand.id),
      seal(op.name, brand.id, { never: 'a filter' }),
      'x',
      '%00',
      '',
      'A'.repeat(5_000),
    ]
    statements.length = 0
    const answers = await Promise.all(wrong.map((cursor) => call(op, at(leastRoute(op), `cursor=${cursor}`))))
    for (const [index, { status, body }] of answers.entries())
      if (status !== 400 || !body.error.message.startsWith('cursor '))
        t.fail(`${wrong[index]}: ${JSON.stringify(body)}`)
    t.same(statements, [])
    t.equal(answers.length, wrong.length)
  })
}

const PAGES = [
  [
    [50, 100, 'clamp'],
    ['/v1/conversations', '/v1/conversations/{id}/messages', '/v1/contacts'],
  ],
  [
    [50, 200, 'refuse'],
    ['', '/{id}/activity', '/{id}/orders', '/{id}/subscriptions'].map((of) => `/v1/customers${of}`),
  ],
  [[100, 5_000, 'refuse'], ['/v1/segments/{id}/members']],
  [[100, 1_000, 'refuse'], ['/v1/segments/{id}/history']],
  [[200, 500, 'refuse'], ['/v1/segments']],
  [[25, 100, 'refuse'], ['orders', 'subscriptions', 'products'].map((name) => `/v1/commerce/${name}`)],
  [[25, 100, 'refuse'], ['/v1/insights/at-risk']],
  [[20, 50, 'refuse'], ['/v1/brand/insights']],
  [[10, 30, 'refuse'], ['/v1/brand/insights/{insight_id}/conversations']],
  [
    [25, 100, 'clamp'],
    ['/cdp/profiles', '/cdp/profiles/{id}/sessions', '/cdp/segments/{id}/members'],
  ],
  [[10_000, 10_000, 'clamp'], ['/cdp/segments/{id}/export']],
] as const

t.test('pages are as long as the contract says', async (t) => {
  for (const [[least, most, over], routes] of PAGES)
    for (const route of routes) {
      const page = routed.find((op) => op.route === `GET ${route}`)?.page
      t.match(page, { default: least, max: most, over }, route)
    }
})

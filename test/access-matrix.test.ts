import t from 'tap'
import { refusal } from '../src/access/permit.ts'
import { KEY_SCOPES } from '../src/access/scopes.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Caller, KeyCaller, Op } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { api, type SignIn } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { stateOf } from './fixtures/rows.ts'
import { SCOPE_TABLE } from './fixtures/scope-table.ts'
import { CELLS, leastRoute, naming, tellingCells, world } from './fixtures/tenancy.ts'

setLogLevel('error')

const SCOPES = [...KEY_SCOPES, 'keys:manage', 'workflows:read', 'dashboard:read', 'cdp:read']
const CURRENT: Record<string, string> = { 'workflows:read': 'campaigns:read', 'dashboard:read': 'stats:read' }
const PROVIDER_KEY_NEVER = /^(customers|commerce|contacts|conversations|insights):read$|^segments:/

const routed = OPS.filter(({ route }) => route)
const withQuery = (route: string, more: string) => `${route}${route.includes('?') ? '&' : '?'}${more}`
const FEATURES = ['cdp', 'beta:cdp-commerce']

t.test('an operation asks for what the contract says', async (t) => {
  for (const { name, route, surface, scopes, signIn, role, feature, rate } of OPS) {
    const asked = { scopes: [...scopes].sort(), signIn, role, feature, rate }
    const row = SCOPE_TABLE[route ?? name]
    t.strictSame(asked, { role: undefined, feature: undefined, rate: undefined, ...row }, name)
    t.equal(surface, route?.includes(' /cdp/') ? 'cdp' : 'rest', name)
  }
})

t.test('every operation, by every kind of credential with every single scope', async (t) => {
  const db = await database(t)
  const brand = await makeBrand(db, { features: FEATURES })
  const { call, key, signIn } = await api(t, db, OPS)
  const { sql } = db.postgres

  const set = async (column: 'revoked_at' | 'expires_at', plaintext: string) => {
    await sql`update api_key set ${sql({ [column]: new Date(Date.now() - 1000) })} where key_prefix = ${plaintext.slice(0, 12)}`
    return plaintext
  }
  /** Keys that were made when more was allowed. */
  const keyWith = async (scope: string, keyClass: KeyCaller['keyClass']) => {
    const made = await key(brand, ['providers:read'], keyClass)
    await sql`update api_key set scopes = ${[scope]} where key_prefix = ${made.slice(0, 12)}`
    return made
  }
  const unknown = (await key(brand, ['brand:read'])).replace(/....$/, 'AAAA')
  const refused: Record<string, string | null> = {
    none: null,
    garbage: 'garbage',
    unknown,
    revoked: await set('revoked_at', await key(brand, KEY_SCOPES)),
    expired: await set('expires_at', await key(brand, KEY_SCOPES)),
    svc_live_: 'svc_live_0123456789',
  }
  interface Kind {
    holder: 'key' | 'provider key' | 'token' | 'session'
    admin: boolean
    /** The scopes that it has whichever is asked for. */
    fixed?: readonly string[]
    credential(scope: string): string | Promise<string>
  }
  const token = (as: SignIn): Omit<Kind, 'admin'> => ({
    holder: 'token',
    credential: (scope) => signIn(brand, { ...as, scopes: [scope] }),
  })
  const session = (as: SignIn): Omit<Kind, 'admin'> => {
    const credential = signIn(brand, { ...as, kind: 'session' })
    const fixed = as.role === 'admin' ? [...KEY_SCOPES, 'keys:manage'] : KEY_SCOPES
    return { holder: 'session', fixed, credential: () => credential }
  }
  const kinds: Record<string, Kind> = {
    svc_: { holder: 'key', admin: false, credential: (scope) => keyWith(scope, 'cdp') },
    svc_ba_: { holder: 'provider key', admin: false, credential: (scope) => keyWith(scope, 'brand-api') },
    'sign-in of an admin': { admin: true, ...token({ role: 'admin' }) },
    'sign-in of a member': { admin: false, ...token({ role: 'member' }) },
    'session of an admin': { admin: true, ...session({ role: 'admin' }) },
    'session of a member': { admin: false, ...session({ role: 'member' }) },
    'session of staff': { admin: true, ...session({ role: 'member', isStaff: true }) },
  }

  /** What the table says, worked out without the code that decides. 400: past the door, to a parameter that is wrong. */
  const expected = (
    { surface, signIn, role, scopes }: Op,
    { holder, admin, fixed }: Kind,
    scope: string,
  ): [number, string] => {
    const cdp = surface === 'cdp'
    if (cdp && holder === 'provider key') return [401, 'unauthorized']
    const isKey = holder.endsWith('key')
    if ((signIn && isKey) || (signIn === 'session' && holder !== 'session') || (role && !admin))
      return [403, cdp ? 'forbidden' : 'insufficient_scope']
    const counts = fixed ?? [CURRENT[scope] ?? scope]
    const has = counts.some(
      (one) => scopes.includes(one) && !(holder === 'provider key' && PROVIDER_KEY_NEVER.test(one)),
    )
    return has || scopes.length === 0 ? [400, 'bad_request'] : [403, 'insufficient_scope']
  }
  const ask = async (op: Op, as: string | null): Promise<[number, string]> => {
    const { status, body } = await call(withQuery(leastRoute(op), '__unknown=1'), { as })
    return [status, body.error.code]
  }
  /** Each answer of which another was expected: one assertion for all, since there are thousands. */
  const unlike = async (
    asked: readonly Op[],
    as: string | null,
    wanted: (op: Op) => [number, string],
  ): Promise<object[]> => {
    const wrong: object[] = []
    for (const op of asked) {
      const found = await ask(op, as)
      if (found.join() !== wanted(op).join()) wrong.push({ op: op.name, found, wanted: wanted(op) })
    }
    return wrong
  }

  for (const [name, credential] of Object.entries(refused)) {
    t.test(`${name} is 401`, async (t) => {
      const code = name === 'svc_live_' ? 'legacy_credential_not_supported' : 'unauthorized'
      t.same(await unlike(routed, credential, () => [401, code]), [])
    })
  }
  for (const [name, kind] of Object.entries(kinds)) {
    t.test(name, async (t) => {
      // Of a session none is asked for.
      const scopes = kind.fixed ? [''] : SCOPES
      await Promise.all(
        scopes.map(async (scope) => {
          const as = await kind.credential(scope)
          t.same(await unlike(routed, as, (op) => expected(op, kind, scope)), [], scope)
        }),
      )
    })
  }
  t.test('a feature that the brand does not have is 403', async (t) => {
    const plain = await makeBrand(db)
    for (const op of routed.filter(({ feature }) => feature)) {
      const as = signIn(plain, { kind: 'session' })
      const [status, code] = await ask(op, as)
      t.equal(status, 403, op.name)
      t.match(code, op.surface === 'cdp' ? /^(forbidden|beta_not_enabled)$/ : 'insufficient_scope', op.name)
    }
  })
})

t.test('CDP commerce', async (t) => {
  const op = { surface: 'cdp', scopes: [], signIn: false, feature: 'beta:cdp-commerce' } as const
  const caller: Caller = { kind: 'key', keyClass: 'cdp', id: 'k', brandId: 'b', scopes: [] }
  const code = (features: string[], store: Partial<Brand> = {}) =>
    refusal(op, caller, { features, shop_domain: 'a.myshopify.com', ...store } as Brand)?.code ?? null
  t.equal(code(['cdp']), 'beta_not_enabled')
  t.equal(code(['beta:cdp-commerce']), 'forbidden')
  t.equal(code(FEATURES, { shop_domain: '' }), 'integration_not_connected')
  t.equal(code(FEATURES, { store_left: true }), 'integration_not_connected')
  t.equal(code(FEATURES), null)
})

t.test('an id of another brand', async (t) => {
  const brands = await world(t)
  const { sql } = brands.db.postgres

  t.test('can stand in every path with one', async (t) => {
    for (const op of routed.filter(({ route }) => /\{(\w+_)?(id|identifier)\}/.test(String(route))))
      t.ok(
        CELLS.some((cell) => cell.op === op),
        op.name,
      )
    for (const { ids } of brands.brands) t.ok(ids.uuids.length > 5 && ids.texts.length > 5)
    t.comment(CELLS.map(({ name }) => name).join(', '))
  })

  t.test('is answered as one that nothing has, byte for byte, and nothing is written', async (t) => {
    const before = await stateOf(sql)
    // Every brand calls everywhere with a third of the next one's ids: in each place there was each of them once.
    const third = (ids: readonly string[], at: number) => ids.filter((_, index) => index % 3 === at)
    const shared = await naming(brands, ({ ids: { uuids, texts } }, at) => ({
      uuids: third(uuids, at),
      texts: third(texts, at),
    }))
    t.same(await tellingCells(t, shared, CELLS), [])
    t.same(await stateOf(sql), before)
  })
})

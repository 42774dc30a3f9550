import t, { type Test } from 'tap'
import { KEY_SCOPES } from '../src/access/scopes.ts'
import type { Brand, Caller, Db, KeyCaller, Op, Statements } from '../src/op.ts'
import { refusal } from '../src/access/permit.ts'
import { OPS } from '../src/ops/all.ts'
import { type Api, api, type SignIn } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { type Database, database } from './fixtures/database.ts'
import { argumentsOf, idPlaces, leastInput, routeOf, takesBody, UNKNOWN } from './fixtures/op-input.ts'
import { brandTables, fillBrand } from './fixtures/rows.ts'
import { SCOPE_TABLE } from './fixtures/scope-table.ts'

t.capture(process.stderr, 'write')

const SCOPES = [...KEY_SCOPES, 'keys:manage', 'workflows:read', 'dashboard:read', 'cdp:read']
const CURRENT: Record<string, string> = { 'workflows:read': 'campaigns:read', 'dashboard:read': 'stats:read' }
const PROVIDER_KEY_NEVER = /^(customers|commerce|contacts|conversations|insights):read$|^segments:/

const routed = OPS.filter(({ route }) => route)
const FEATURES = ['cdp', 'beta:cdp-commerce']

t.test('an operation asks for what the contract says', async (t) => {
  for (const op of routed) {
    const row = SCOPE_TABLE[op.route as string]
    if (!row) t.comment(`${op.route} is not in the contract's table`)
    else {
      const { name, surface, scopes, signIn, role, feature } = op
      t.same({ scopes: [...scopes].sort(), signIn, role, feature }, { role: undefined, feature: undefined, ...row }, name)
      t.equal(surface, op.route?.includes(' /cdp/') ? 'cdp' : 'rest', name)
    }
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
    'svc_live_': 'svc_live_0123456789',
  }
  interface Kind {
    holder: 'key' | 'provider key' | 'token' | 'session'
    admin: boolean
    credential(scope: string): string | Promise<string>
  }
  const signedIn = (holder: 'token' | 'session', as: SignIn): Omit<Kind, 'admin'> => ({
    holder,
    credential: (scope) => signIn(brand, { ...as, kind: holder, scopes: [scope] }),
  })
  const kinds: Record<string, Kind> = {
    svc_: { holder: 'key', admin: false, credential: (scope) => keyWith(scope, 'cdp') },
    svc_ba_: { holder: 'provider key', admin: false, credential: (scope) => keyWith(scope, 'brand-api') },
    'sign-in of an admin': { admin: true, ...signedIn('token', { role: 'admin' }) },
    'sign-in of a member': { admin: false, ...signedIn('token', { role: 'member' }) },
    'session of an admin': { admin: true, ...signedIn('session', { role: 'admin' }) },
    'session of a member': { admin: false, ...signedIn('session', { role: 'member' }) },
    'session of staff': { admin: true, ...signedIn('session', { role: 'member', isStaff: true }) },
  }

  /** What the table says, worked out without the code that decides. 400: past the door, to a parameter that is wrong. */
  const expected = ({ surface, signIn, role, scopes }: Op, { holder, admin }: Kind, scope: string): [number, string] => {
    const cdp = surface === 'cdp'
    if (cdp && holder === 'provider key') return [401, 'unauthorized']
    const isKey = holder.endsWith('key')
    if ((signIn && isKey) || (signIn === 'session' && holder !== 'session') || (role && !admin))
      return [403, cdp ? 'forbidden' : 'insufficient_scope']
    const counts = CURRENT[scope] ?? scope
    const has = scopes.includes(counts) && !(holder === 'provider key' && PROVIDER_KEY_NEVER.test(counts))
    return has || scopes.length === 0 ? [400, 'bad_request'] : [403, 'insufficient_scope']
  }
  const ask = async (op: Op, as: string | null) => {
    const { status, body } = await call(`${routeOf(op, leastInput(op))}?__unknown=1`, { as })
    return [status, body.error.code]
  }

  for (const [name, credential] of Object.entries(refused)) {
    t.test(`${name} is 401`, async (t) => {
      const code = name === 'svc_live_' ? 'legacy_credential_not_supported' : 'unauthorized'
      for (const op of routed) t.same(await ask(op, credential), [401, code], op.name)
    })
  }
  for (const [name, kind] of Object.entries(kinds)) {
    t.test(name, async (t) => {
      await Promise.all(
        SCOPES.map(async (scope) => {
          const as = await kind.credential(scope)
          for (const op of routed) t.same(await ask(op, as), expected(op, kind, scope), `${op.name} with ${scope}`)
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
  const code = (features: string[], shop = 'a.myshopify.com') =>
    refusal(op, caller, { features, shop_domain: shop } as Brand)?.code ?? null
  t.equal(code(['cdp']), 'beta_not_enabled')
  t.equal(code(['beta:cdp-commerce']), 'forbidden')
  t.equal(code(FEATURES, ''), 'integration_not_connected')
  t.equal(code(FEATURES), null)
})

/** A call of an operation that an id stands in, by route or as a tool. */
interface Cell {
  op: Op
  name: string
  isUuid: boolean
  send(api: Api, as: string, id: string): Promise<string>
}

const FIXED = { 'x-request-id': 'matrix' }

const cells: Cell[] = OPS.flatMap((op) =>
  idPlaces(op).flatMap(({ name, isUuid, put }): Cell[] => {
    const byRoute: Cell = {
      op,
      name: `${op.route} ${name}`,
      isUuid,
      send: async ({ call }, as, id) => {
        const input = put(id)
        const body = takesBody(op) ? input.body : undefined
        const { status, headers, text } = await call(routeOf(op, input), { as, body, headers: FIXED })
        const { date, ...compared } = headers
        return JSON.stringify({ status, compared, text })
      },
    }
    const byTool: Cell = {
      op,
      name: `tool ${op.name} ${name}`,
      isUuid,
      send: async ({ tool }, as, id) => {
        const { status, text } = await tool(op.name, argumentsOf(op, put(id)), { as, headers: FIXED })
        return JSON.stringify({ status, text })
      },
    }
    return [...(op.route ? [byRoute] : []), ...(op.tool ? [byTool] : [])]
  }),
)

/** Which database an operation gets; by default the app's, behind row-level security. */
type Open = (brandId: string) => Db

t.test('an id of another brand', async (t) => {
  const db = await database(t)
  const brands = [0, 1, 2].map(() => makeBrand(db, { features: FEATURES }))
  const [a, b, c] = (await Promise.all(brands)) as [Brand, Brand, Brand]
  for (const brand of [a, b, c]) await fillBrand(db, brand)
  const ids = new Map<Brand, Ids>()
  for (const brand of [a, b, c]) ids.set(brand, await idsOf(db, brand))
  const now = () => new Date('2030-01-01T00:00:00Z')

  /** Cells in which an id of another brand is answered unlike one that nothing has. */
  const told = async (opened: Open, of: readonly Cell[], callers: readonly Brand[]): Promise<string[]> => {
    const under: Teardowns = new Teardowns()
    try {
      const made = await api(under, db, OPS, { now, db: opened })
      const wrong: string[] = []
      for (const brand of callers) {
        const token = made.signIn(brand)
        const session = made.signIn(brand, { kind: 'session' })
        const others = [...ids].filter(([other]) => other !== brand).map(([, found]) => found)
        for (const cell of of) {
          const as = cell.op.signIn === 'session' ? session : token
          for (const { uuids, texts } of others) {
            const foreign = cell.isUuid ? uuids : [...uuids, ...texts]
            for (const id of foreign) {
              const missing = cell.isUuid ? UNKNOWN : randomLike(id)
              const [answer, wanted] = await Promise.all([cell.send(made, as, id), cell.send(made, as, missing)])
              if (answer.replaceAll(id, '') !== wanted.replaceAll(missing, '')) wrong.push(cell.name)
            }
          }
        }
      }
      return [...new Set(wrong)]
    } finally {
      await under.run()
    }
  }

  t.test('stands in many places', async (t) => {
    for (const { uuids, texts } of ids.values()) t.ok(uuids.length > 5 && texts.length > 5)
    t.ok(cells.length > 8, cells.map(({ name }) => name).join(', '))
    for (const { name, op } of OPS.map((op) => ({ name: op.route ?? op.name, op })))
      if (/\{/.test(name)) t.ok(cells.some((cell) => cell.op === op), `${name} has a place`)
  })

  t.test('is answered as one that nothing has, byte for byte, and changes nothing', async (t) => {
    const before = await stateOf(db)
    t.same(await told(db.postgres.forBrand, cells, [a, b, c]), [])
    t.same(await stateOf(db), before)
  })

  t.test('is so behind row-level security alone, and would not be without', async (t) => {
    const used = new Map<string, Set<Cell>>()
    for (const cell of cells) {
      const note = (name: string) => used.set(name, (used.get(name) ?? new Set()).add(cell))
      await told((brandId) => noting(db.postgres.forBrand(brandId), note), [cell], [a])
    }
    const filtered = [...used].filter(([name]) => unfiltered(name) !== undefined)
    t.ok(filtered.length > 2, filtered.map(([name]) => name).join(', '))
    const before = await stateOf(db)
    for (const [name, reached] of filtered) {
      t.same(await told(mutated(db, 'app', name), [...reached], [a]), [], `${name} without its filter, as the app`)
      t.same(await stateOf(db), before, 'nothing is written')
      const leaks = await told(mutated(db, 'pipeline', name), [...reached], [a])
      const changed = JSON.stringify(await stateOf(db)) !== JSON.stringify(before)
      t.ok(leaks.length > 0 || changed, `${name} without its filter, past row-level security, is noticed`)
      if (changed) return t.comment(`${name} wrote, so the rows are not those of the beginning`)
    }
  })
})

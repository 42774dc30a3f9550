import t, { type Test } from 'tap'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createCursors } from '../src/access/cursor.ts'
import { createKey, isKey, listKeys, makeKey } from '../src/access/key.ts'
import { createSeal } from '../src/access/seal.ts'
import { serviceSecret } from '../src/access/secret.ts'
import type { Failure } from '../src/errors.ts'
import type { Statements } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

const scopes = ['segments:read']
const bearer = (key: string) => `Bearer ${key}`

t.test('the format', async (t) => {
  t.test('a key is svc_ or svc_ba_ and 49 base62 digits, the last six a checksum', async (t) => {
    t.match(makeKey('cdp'), /^svc_[0-9A-Za-z]{49}$/)
    t.match(makeKey('brand-api'), /^svc_ba_[0-9A-Za-z]{49}$/)
    t.ok(isKey(makeKey('cdp')))
    t.ok(isKey(makeKey('brand-api')))
  })
  t.test('no two keys are alike', async (t) => {
    t.equal(new Set(Array.from({ length: 1000 }, () => makeKey('cdp'))).size, 1000)
  })
  t.test('a key with one other character is not a key', async (t) => {
    const key = makeKey('cdp')
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === 'A' ? 'B' : 'A'
      t.notOk(isKey(key.slice(0, at) + other + key.slice(at + 1)), `position ${at}`)
    }
    t.notOk(isKey(`${key} `))
    t.notOk(isKey(key.replace('svc_', 'svc_ba_')))
  })
})

t.test('keys in Postgres', async (t) => {
  const { postgres } = await database(t)
  const brand = await makeBrand({ postgres }, { features: ['cdp'] })
  const other = await makeBrand({ postgres })
  const db = postgres.forBrand(brand.id)

  /** An authenticator with a clock of its own that counts its statements. */
  const authenticator = (t: Test) => {
    const clock = { now: Date.now() }
    const counted = { reads: 0, writes: 0 }
    const pipeline: Statements = {
      ...postgres.pipeline,
      many: (name, args) => {
        counted.reads++
        return postgres.pipeline.many(name, args)
      },
      run: (name, args) => {
        counted.writes++
        return postgres.pipeline.run(name, args)
      },
    }
    const made = createAuthenticator(pipeline, () => clock.now)
    t.teardown(() => made.settled())
    return { ...made, clock, counted }
  }
  const refusal = async (call: () => unknown): Promise<Failure> => {
    try {
      await call()
    } catch (error) {
      return error as Failure
    }
    throw new Error('was not refused')
  }

  t.test('a new key shows its plaintext once and is stored as hash and prefix', async (t) => {
    const { plaintext, ...record } = await createKey(db, { scopes: [...scopes, ...scopes], name: 'mine' })
    t.match(record, {
      brand_id: brand.id,
      scopes,
      key_prefix: plaintext.slice(0, 12),
      last_used_at: null,
      revoked_at: null,
      expires_at: null,
    })
    t.match(record.created_at, /^\d{4}-.*Z$/)
    t.match((await listKeys(db))[0], record)
    const [stored] = await postgres.sql`select api_key::text as row from api_key where id = ${record.id}`
    t.notMatch(stored?.row, plaintext.slice(12))
  })
  t.test('keys are listed per brand and class, newest first', async (t) => {
    const db = postgres.forBrand(other.id)
    const one = await createKey(db, { scopes })
    const two = await createKey(db, { scopes: ['providers:read'], keyClass: 'brand-api' })
    t.same(
      (await listKeys(db)).map((key) => key.id),
      [two.id, one.id],
    )
    t.same(
      (await listKeys(db, 'cdp')).map((key) => key.id),
      [one.id],
    )
  })
  t.test('scopes that a key cannot carry are refused by name', async (t) => {
    await t.rejects(createKey(db, { scopes: [] }), {
      code: 'bad_request',
      message: /^scopes must not be empty/,
    })
    for (const scope of ['keys:manage', 'cdp:read', 'workflows:read', 'dashboard:read', 'nonsense']) {
      await t.rejects(createKey(db, { scopes: ['brand:read', scope] }), {
        code: 'bad_request',
        message: /^scopes\[1\] must be/,
      })
    }
  })
  t.test('a key says who calls and for which brand', async (t) => {
    const { authenticate } = authenticator(t)
    const key = await createKey(db, { scopes })
    const { caller, brand: found } = await authenticate(`bearer   ${key.plaintext}`)
    t.same(caller, { kind: 'key', id: key.id, brandId: brand.id, scopes, keyClass: 'cdp' })
    t.match(found, { id: brand.id, shop_domain: brand.shop_domain, features: ['cdp'], created_at: /T.*Z$/ })
  })
  t.test('unknown, revoked, expired and malformed are one and the same 401', async (t) => {
    const { authenticate } = authenticator(t)
    const revoked = await createKey(db, { scopes })
    await postgres.sql`update api_key set revoked_at = now() where id = ${revoked.id}`
    const expired = await createKey(db, { scopes, expiresAt: new Date(Date.now() - 1000) })
    const refusals = []
    for (const token of [
      makeKey('cdp'),
      revoked.plaintext,
      expired.plaintext,
      'svc_short',
      'eyJhbGciOiJub25lIn0.e30.',
    ]) {
      const { code, message, headers } = await refusal(() => authenticate(bearer(token)))
      refusals.push({ code, message, headers })
    }
    t.match(refusals[0], { code: 'unauthorized', headers: { 'www-authenticate': 'Bearer' } })
    for (const one of refusals) t.same(one, refusals[0])
  })
  t.test('no credential, or one of another scheme, is 401', async (t) => {
    const { authenticate } = authenticator(t)
    for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'svc_x', 'Bearer a b']) {
      t.match(await refusal(() => authenticate(header)), { code: 'unauthorized' }, String(header))
    }
  })
  t.test('svc_live_ is 401 legacy_credential_not_supported', async (t) => {
    const { authenticate, counted } = authenticator(t)
    t.match(await refusal(() => authenticate('Bearer svc_live_abc')), {
      code: 'legacy_credential_not_supported',
      status: 401,
    })
    t.same(counted, { reads: 0, writes: 0 })
  })
  t.test('a wrong checksum costs no query', async (t) => {
    const { authenticate, counted } = authenticator(t)
    const key = makeKey('cdp')
    await refusal(() => authenticate(bearer(key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A'))))
    t.equal(counted.reads, 0)
  })
  t.test('calls within a second, and at once, share one look-up', async (t) => {
    const { authenticate, counted, clock } = authenticator(t)
    const { plaintext } = await createKey(db, { scopes })
    await Promise.all(Array.from({ length: 20 }, () => authenticate(bearer(plaintext))))
    clock.now += 999
    t.notOk(authenticate(bearer(plaintext)) instanceof Promise, 'a known key is answered at once')
    t.equal(counted.reads, 1)
    clock.now += 2
    await authenticate(bearer(plaintext))
    t.equal(counted.reads, 2)
  })
  t.test('an unknown key is looked up once a second too', async (t) => {
    const { authenticate, counted } = authenticator(t)
    const key = makeKey('cdp')
    await refusal(() => authenticate(bearer(key)))
    await refusal(() => authenticate(bearer(key)))
    t.equal(counted.reads, 1)
  })
  t.test('keys that somebody made up share look-ups', async (t) => {
    const { authenticate, counted } = authenticator(t)
    const { plaintext } = await createKey(db, { scopes })
    const madeUp = Array.from({ length: 2_000 }, () => refusal(() => authenticate(bearer(makeKey('cdp')))))
    const found = await authenticate(bearer(plaintext))
    t.match(found, { brand: { id: brand.id } })
    for (const { code } of await Promise.all(madeUp)) if (code !== 'unauthorized') t.fail(code)
    t.equal(counted.reads, 2, 'one, and one for all that came meanwhile')
  })
  t.test('a key that was read stops working at its expiry', async (t) => {
    const { authenticate, clock } = authenticator(t)
    const { plaintext } = await createKey(db, { scopes, expiresAt: new Date(clock.now + 500) })
    await authenticate(bearer(plaintext))
    clock.now += 501
    t.match(await refusal(() => authenticate(bearer(plaintext))), { code: 'unauthorized' })
  })
  t.test('a dropped key is read again, and so sees its revocation', async (t) => {
    const { authenticate, forget } = authenticator(t)
    const { id, plaintext } = await createKey(db, { scopes })
    await authenticate(bearer(plaintext))
    await postgres.sql`update api_key set revoked_at = now() where id = ${id}`
    await authenticate(bearer(plaintext))
    forget('key', id)
    t.match(await refusal(() => authenticate(bearer(plaintext))), { code: 'unauthorized' })
  })
  t.test('a reading that a drop overtook is not kept', async (t) => {
    const { authenticate, forget, counted } = authenticator(t)
    const { id, plaintext } = await createKey(db, { scopes })
    const reading = authenticate(bearer(plaintext))
    forget('key', id)
    await reading
    await authenticate(bearer(plaintext))
    t.equal(counted.reads, 2)
  })
  t.test('the use of a key is noted at most once a minute', async (t) => {
    const { authenticate, settled, counted, clock } = authenticator(t)
    const { id, plaintext } = await createKey(db, { scopes })
    const usedAt = async () => (await listKeys(db)).find((key) => key.id === id)?.last_used_at
    for (const later of [0, 500, 2_000, 30_000]) {
      clock.now += later
      await authenticate(bearer(plaintext))
      await settled()
    }
    t.equal(counted.writes, 1)
    const first = await usedAt()
    t.match(first, /Z$/)
    const second = authenticator(t)
    await second.authenticate(bearer(plaintext))
    await second.settled()
    t.equal(await usedAt(), first, 'nor by another process')
  })
  t.test('Postgres being away is not a 401', async (t) => {
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const { authenticate } = createAuthenticator({ ...postgres.pipeline, many: () => Promise.reject(away) })
    await t.rejects(async () => authenticate(bearer(makeKey('cdp'))), away)
  })
  t.test('a secret is made once and is the same for all who ask at the same time', async (t) => {
    const seal = createSeal('k'.repeat(32))
    const all = await Promise.all(
      Array.from({ length: 5 }, () => serviceSecret(postgres.pipeline, 'test', seal)),
    )
    t.equal(new Set(all.map((secret) => secret.toString('hex'))).size, 1)
    t.equal(all[0]?.length, 32)
    t.notSame(await serviceSecret(postgres.pipeline, 'another', seal), all[0])
  })
  t.test('the role of the API cannot read secrets', async (t) => {
    await t.rejects(db.many('secret_value'), { code: '42501' })
  })
})

t.test('cursors', async (t) => {
  const cursors = createCursors(Buffer.alloc(32, 1))
  const call = { endpoint: 'list_things', brand: 'b1', filters: { status: 'active', sort: undefined } }
  const sealed = cursors.seal(call, ['2026-01-01', 7])

  t.test('opens to the position that was sealed', async (t) => {
    t.same(cursors.open(call, sealed), ['2026-01-01', 7])
    t.same(cursors.open({ ...call, filters: { sort: null, status: 'active' } }, sealed), ['2026-01-01', 7])
  })
  t.test('is of no use for another endpoint, brand or filter', async (t) => {
    t.same(cursors.read({ ...call, endpoint: 'list_others' }, sealed), { problem: 'invalid' })
    t.same(cursors.read({ ...call, filters: { status: 'all' } }, sealed), { problem: 'invalid' })
    t.same(cursors.read({ ...call, brand: 'b2' }, sealed), { problem: 'other_brand' })
    for (const other of [
      { ...call, endpoint: 'x' },
      { ...call, brand: 'x' },
      { ...call, filters: {} },
    ]) {
      t.throws(() => cursors.open(other, sealed), { code: 'bad_request', message: /^cursor / })
    }
  })
  t.test('each flipped bit makes it invalid', async (t) => {
    const bytes = Buffer.from(sealed, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      if ('position' in cursors.read(call, flipped.toString('base64url'))) t.fail(`bit ${bit}`)
    }
  })
  t.test('only its own spelling counts', async (t) => {
    const bytes = Buffer.from(sealed, 'base64url')
    const spellings = [
      `${sealed}=`,
      `${sealed}==`,
      ` ${sealed}`,
      `${sealed}\n`,
      `${sealed}A`,
      bytes.toString('hex'),
      '',
      'x'.repeat(5000),
    ]
    for (const spelling of spellings)
      t.same(cursors.read(call, spelling), { problem: 'invalid' }, JSON.stringify(spelling.slice(-5)))
    // The last character of unpadded base64 carries bits that decoding ignores.
    const odd = cursors.seal(call, 'x')
    const alternatives = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].map(
      (last) => odd.slice(0, -1) + last,
    )
    t.same(
      alternatives.filter((one) => 'position' in cursors.read(call, one)),
      [odd],
    )
  })
  t.test('another secret does not open it, unless it is kept beside the new one', async (t) => {
    const fresh = Buffer.alloc(32, 2)
    t.same(createCursors(fresh).read(call, sealed), { problem: 'invalid' })
    t.same(createCursors(fresh, Buffer.alloc(32, 1)).open(call, sealed), ['2026-01-01', 7])
  })
})

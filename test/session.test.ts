import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { logIn as checkLogin } from '../src/access/sign-in/login.ts'
import { openSignIn } from '../src/access/sign-in/open.ts'
import { sweepSignIns } from '../src/access/sign-in/sweep.ts'
import { changePassword } from '../src/access/sign-in/user.ts'
import type { Statements } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import type { Browser, Visit } from './fixtures/browser.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { PASSWORD, PASSWORD_HASH, signInServer } from './fixtures/sign-in-server.ts'

const db = await database(t)
const { postgres } = db
const [brand, other] = [await makeBrand(db, { name: 'One' }), await makeBrand(db, { name: 'Two' })]
const counted = { reads: 0 }
const pipeline: Statements = {
  ...postgres.pipeline,
  maybe: (name, args) => {
    counted.reads++
    return postgres.pipeline.maybe(name, args)
  },
}
const server = await signInServer(t, db, { pipeline })
const { base, signIn } = server

const logIn = async (
  visitor: Browser,
  email: string,
  password = PASSWORD,
  next = '/v1/brand',
): Promise<Visit> => {
  const page = await visitor.open(`/sign-in?${new URLSearchParams({ next })}`)
  return await visitor.submit(page, '/sign-in', { email, password })
}
const cookieOf = (visitor: Browser) =>
  [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

t.test('a session of the web app', async (t) => {
  const userId = await server.user('admin@b.co', [[brand, 'admin']])
  await server.user('both@b.co', [
    [brand, 'admin'],
    [other, 'member'],
  ])

  t.test('begins with email and password, and goes on where it was asked to', async (t) => {
    const visitor = server.browser()
    const page = await logIn(visitor, 'admin@b.co')
    t.equal(page.url, `${base}/v1/brand`)
    t.match(JSON.parse(page.text), { id: brand.id })
    t.equal((await visitor.open('/sign-in?next=/v1/brand')).url, page.url, 'without asking again')
  })
  t.test('is in a cookie that no script sees and no other site sends', async (t) => {
    const cookie = await signIn.sessions.start(userId, brand.id, PASSWORD_HASH)
    t.match(cookie, /^recoup_session=[\w-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/)
    const secure = await openSignIn({ ...signIn, baseUrl: 'https://recoup.example' })
    t.match(
      await secure.sessions.start(userId, brand.id, PASSWORD_HASH),
      /^__Host-recoup_session=.*; Secure$/,
    )
  })
  t.test('changes things from a page of ours only', async (t) => {
    const visitor = server.browser()
    await logIn(visitor, 'admin@b.co')
    const change = (headers: Record<string, string>) =>
      server.call('/v1/things', undefined, {
        method: 'POST',
        headers: { cookie: cookieOf(visitor), ...headers },
      })
    t.equal((await change({ origin: base })).status, 200)
    t.equal((await change({ 'sec-fetch-site': 'same-origin' })).status, 200)
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ])
      t.match(await change(headers as Record<string, string>), {
        status: 403,
        body: { error: { code: 'insufficient_scope' } },
      })
  })
  t.test('does not stand in for a credential that is wrong', async (t) => {
    const visitor = server.browser()
    await logIn(visitor, 'admin@b.co')
    const headers = { cookie: cookieOf(visitor) }
    t.equal((await server.call('/v1/brand', undefined, { headers })).status, 200)
    t.equal((await server.call('/v1/brand', 'nonsense', { headers })).status, 401)
  })
  t.test('ends at once when the user signs out', async (t) => {
    const visitor = server.browser()
    await logIn(visitor, 'admin@b.co')
    const headers = { cookie: cookieOf(visitor), origin: base }
    t.equal(
      (
        await fetch(`${base}/sign-out`, {
          method: 'POST',
          headers: { ...headers, origin: 'https://evil.example' },
        })
      ).status,
      403,
    )
    const out = await fetch(`${base}/sign-out`, { method: 'POST', headers, redirect: 'manual' })
    t.match(out.headers.get('set-cookie'), /^recoup_session=; Max-Age=0/)
    t.equal((await server.call('/v1/brand', undefined, { headers })).status, 401)
  })
  t.test('ends with a new password, and with the account', async (t) => {
    for (const end of [
      (id: string) => changePassword(postgres.pipeline, id, 'another long password'),
      (id: string) => postgres.sql`update app_user set disabled_at = now() where id = ${id}`,
    ]) {
      const id = await server.user(`ends-${Math.random()}@b.co`, [[brand, 'admin']])
      const cookie = (await signIn.sessions.start(id, brand.id, PASSWORD_HASH)).split(';')[0] as string
      t.equal((await server.call('/v1/brand', undefined, { headers: { cookie } })).status, 200)
      await end(id)
      signIn.forget('user', id)
      t.equal((await server.call('/v1/brand', undefined, { headers: { cookie } })).status, 401)
    }
  })
  t.test('does not begin with a password that another one has replaced by then', async (t) => {
    const id = await server.user('replaced@b.co', [[brand, 'admin']])
    let isSet = false
    const late: Statements = {
      ...pipeline,
      run: async (name, args) => {
        const done = await pipeline.run(name, args)
        if (name === 'attempt_forgive' && !isSet) {
          isSet = true
          await changePassword(postgres.pipeline, id, 'another long password')
        }
        return done
      },
    }
    const weak = await signInServer(t, db, { pipeline: late })
    const visitor = weak.browser()
    const page = await visitor.open('/sign-in')
    const answer = await visitor.submit(page, '/sign-in', { email: 'replaced@b.co', password: PASSWORD })
    t.match(answer, { status: 401, text: /email or the password is wrong/ })
    t.same(await postgres.sql`select from web_session where user_id = ${id}`, [])
  })
  t.test('that fails says so in the title and of the fields', async (t) => {
    const visitor = server.browser()
    t.notMatch((await visitor.open('/sign-in')).text, /aria-invalid/)
    const { text } = await logIn(visitor, 'nobody@b.co')
    t.match(text, /<title>Not signed in · Recoup/)
    t.equal(text.match(/aria-describedby="problem" aria-invalid="true"/g)?.length, 2)
  })
  t.test('a field that no column could hold is a mistake of whoever sent it', async (t) => {
    const page = await logIn(server.browser(), 'admin\0@b.co')
    t.match(page, { status: 400, text: /email must not hold the character U\+0000/ })
  })
  t.test('waits for a password that is being set', async (t) => {
    const id = await server.user('being-set@b.co', [[brand, 'admin']])
    let starting: Promise<string> | undefined
    await postgres.pipeline.tx(async (tx) => {
      await changePassword(tx, id, 'another long password')
      starting = signIn.sessions.start(id, brand.id, PASSWORD_HASH)
      starting.catch(() => {})
      const waiting = () => postgres.sql`
        select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`
      await eventually(async () => (await waiting()).length > 0)
    })
    await t.rejects(async () => await starting, { code: 'unauthorized' })
  })
  t.test('that nobody signed costs no query', async (t) => {
    const cookie = (await signIn.sessions.start(userId, brand.id, PASSWORD_HASH)).split(';')[0] as string
    const before = counted.reads
    const at = cookie.length - 20
    const forged = `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`
    for (const one of [
      forged,
      `${cookie}A`,
      'recoup_session=',
      'recoup_session=x',
      cookie.replace('session', 'device'),
    ])
      t.equal((await server.call('/v1/brand', undefined, { headers: { cookie: one } })).status, 401)
    t.equal(counted.reads, before)
  })
  t.test('is for the brand that the user chooses', async (t) => {
    const visitor = server.browser()
    const choice = await logIn(visitor, 'both@b.co')
    t.match(choice.text, /Choose a brand/)
    t.match(JSON.parse((await visitor.submit(choice, '/sign-in/brand', { brand_id: other.id })).text), {
      name: 'Two',
    })
    const found = await signIn.session(cookieOf(visitor))
    t.match(found, { caller: { kind: 'session', role: 'member', brandId: other.id }, brand: { name: 'Two' } })
    t.notOk(found?.caller.scopes.includes('keys:manage'))
    const again = await visitor.open('/sign-in/brand?next=/v1/brand')
    t.match(JSON.parse((await visitor.submit(again, '/sign-in/brand', { brand_id: brand.id })).text), {
      name: 'One',
    })
    const wrong = await visitor.submit(again, '/sign-in/brand', { brand_id: (await makeBrand(db)).id })
    t.equal(wrong.status, 404)
  })
  t.test('never leads to another site', async (t) => {
    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      '\t//evil.example',
      'javascript:alert(1)',
      'http://[',
    ]) {
      const { url } = await logIn(server.browser(), 'admin@b.co', PASSWORD, next)
      t.ok(url.startsWith(`${base}/`), `${next} → ${url}`)
    }
  })
})

t.test('whoever guesses at passwords', async (t) => {
  const fresh = async (t: Test) => {
    await postgres.sql`delete from sign_in_attempt`
    const email = `user-${t.name.length}@b.co`
    await server.user(email, [[brand, 'admin']])
    return email
  }
  const wait = async () => {
    const [row] = await postgres.sql`
      select extract(epoch from blocked_until - failed_at)::int as seconds from sign_in_attempt
      order by blocked_until desc limit 1`
    return row?.seconds
  }
  const pass = () => postgres.sql`update sign_in_attempt set blocked_until = now()`
  /** So that a slow machine does not outwait a second. */
  const hold = () =>
    postgres.sql`update sign_in_attempt set blocked_until = now() + interval '1 hour' where blocked_until > failed_at`

  t.test('learns nothing about which accounts there are', async (t) => {
    const email = await fresh(t)
    const wrong = await logIn(server.browser(), email, 'wrong')
    const unknown = await logIn(server.browser(), 'nobody@b.co', 'wrong')
    t.equal(wrong.status, 401)
    t.equal(unknown.status, 401)
    t.equal(wrong.text.replaceAll(email, ''), unknown.text.replaceAll('nobody@b.co', ''))
  })
  t.test('has to wait longer after each failure, and the right password does not help', async (t) => {
    const email = await fresh(t)
    const visitor = server.browser()
    for (let at = 0; at < 5; at++) t.equal((await logIn(visitor, email, `wrong ${at}`)).status, 401)
    t.equal(await wait(), 1)
    await hold()
    const blocked = await logIn(visitor, email)
    t.equal(blocked.status, 429)
    t.match(blocked.headers.get('retry-after'), /^(3600|35\d\d)$/)
    t.match(blocked.text, /Too many failed attempts/)
    const waits = []
    for (let at = 0; at < 3; at++) {
      await pass()
      t.equal((await logIn(visitor, email, 'wrong')).status, 401)
      waits.push(await wait())
    }
    t.same(waits, [2, 4, 8])
    await postgres.sql`update sign_in_attempt set failures = 1000, blocked_until = now()`
    await logIn(visitor, email, 'wrong')
    t.equal(await wait(), 900, 'a quarter of an hour at most')
    await pass()
    t.equal((await logIn(visitor, email)).status, 200)
    t.equal((await logIn(server.browser(), email, 'wrong')).status, 401, 'a success forgives')
  })
  t.test('cannot do it all at once', async (t) => {
    const email = await fresh(t)
    const attempt = () => checkLogin(postgres.pipeline, { email, password: 'wrong', address: '::1' })
    const answers = await Promise.all(Array.from({ length: 12 }, () => attempt().catch(({ code }) => code)))
    t.equal(answers.filter((code) => code === 'unauthorized').length, 5)
    t.equal(answers.filter((code) => code === 'rate_limited').length, 7)
  })
  t.test('cannot go through many accounts from one address', async (t) => {
    const email = await fresh(t)
    await logIn(server.browser(), 'nobody@b.co', 'wrong')
    await postgres.sql`update sign_in_attempt set failures = 20`
    await logIn(server.browser(), 'nobody-2@b.co', 'wrong')
    await hold()
    t.equal((await logIn(server.browser(), email)).status, 429)
  })
  t.test('does not keep the owner out of a browser that was signed in before', async (t) => {
    const email = await fresh(t)
    const known = server.browser()
    await logIn(known, email)
    await known.open('/sign-in')
    for (let at = 0; at < 5; at++) await logIn(server.browser(), email, 'wrong')
    await hold()
    t.equal((await logIn(server.browser(), email)).status, 429)
    const cookie = `recoup_device=${known.cookies.get('recoup_device')}`
    const attempt = (body: Record<string, string>) =>
      fetch(`${base}/sign-in`, {
        method: 'POST',
        headers: { origin: base, cookie },
        body: new URLSearchParams(body),
        redirect: 'manual',
      })
    t.equal((await attempt({ email, password: PASSWORD })).status, 303)
    for (let at = 0; at < 5; at++) await attempt({ email, password: 'wrong' })
    await hold()
    t.equal((await attempt({ email, password: PASSWORD })).status, 429, 'but may not guess there either')
  })
  t.test('is forgiven with time', async (t) => {
    const email = await fresh(t)
    for (let at = 0; at < 5; at++) await logIn(server.browser(), email, 'wrong')
    await postgres.sql`update sign_in_attempt set failed_at = now() - interval '1 hour', blocked_until = now()`
    await logIn(server.browser(), email, 'wrong')
    t.equal((await logIn(server.browser(), email)).status, 200)
  })
})

t.test('what has ended is removed', async (t) => {
  const client = await server.register()
  const { refresh_token } = await server.tokens(client, 'admin@b.co')
  await server.register()
  await postgres.sql`update oidc_record set created_at = now() - interval '31 days' where model = 'Client'`
  await postgres.sql`update oidc_record set expires_at = now() - interval '1 second' where model <> 'Client' and model <> 'RefreshToken' and model <> 'Grant'`
  await postgres.sql`update web_session set expires_at = now() - interval '1 second'`
  await sweepSignIns(postgres.pipeline)
  const models =
    await postgres.sql`select model, count(*)::int as n from oidc_record group by model order by model`
  t.same(
    models.map(({ model, n }) => [model, n]),
    [
      ['Client', 1],
      ['Grant', 1],
      ['RefreshToken', 1],
    ],
  )
  t.equal((await postgres.sql`select from web_session`).length, 0)
  t.equal((await server.token(client, { grant_type: 'refresh_token', refresh_token })).status, 200)
})

t.test(
  'clients are removed three days after they registered, and used ones a month after their use',
  async (t) => {
    const fresh = await server.register()
    const unused = await server.register()
    const [used, left] = [await server.register(), await server.register()]
    for (const client of [used, left]) await server.tokens(client, 'admin@b.co')
    const idOf = ({ id }: { id: string }) => hash('sha256', id, 'hex')
    const aged = (client: { id: string }, column: string, days: number) => postgres.sql`
    update oidc_record set ${postgres.sql(column)} = now() - ${days} * interval '1 day'
    where model = 'Client' and id = decode(${idOf(client)}, 'hex')`
    await aged(fresh, 'created_at', 2.9)
    for (const client of [unused, used, left]) await aged(client, 'created_at', 90)
    await aged(used, 'used_at', 29)
    await aged(left, 'used_at', 31)
    await postgres.sql`delete from sign_in_grant`
    await sweepSignIns(postgres.pipeline)
    const rows = await postgres.sql`select encode(id, 'hex') as id from oidc_record where model = 'Client'`
    const kept = new Set(rows.map(({ id }) => id))
    t.same(
      [fresh, unused, used, left].map((client) => kept.has(idOf(client))),
      [true, false, true, false],
    )
  },
)

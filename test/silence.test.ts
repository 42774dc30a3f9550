import postgres from 'postgres'
import t, { type Test } from 'tap'
import { isUnavailable } from '../src/errors.ts'
import { setLogLevel } from '../src/log.ts'
import type { Watched } from '../src/store/driver.ts'
import { openPostgres, type Sql } from '../src/store/postgres.ts'
import { watchSilence } from '../src/store/silence.ts'
import type { Teardown } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { proxy } from './fixtures/proxy.ts'

/** Connections whose other side is gone without a word. */
setLogLevel('error')
const db = await database(t)
const owner = postgres(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => owner.end())

async function forgetful(t: Teardown, { max = 1, awayMs = 3_600_000 } = {}) {
  const between = await proxy(t, db.url)
  const made = openPostgres(between.url, {
    max,
    silence: { silentMs: 500, lookMs: 50, askMs: 5_000, awayMs },
  })
  t.teardown(() => made.close())
  const another = () => {
    const sql = made.pool({ max: 1 })
    t.teardown(() => sql.end({ timeout: 0 }))
    return sql
  }
  return { between, made, sql: made.sql, another }
}

const one = [{ one: 1 }]
const ask = (sql: Sql) => sql`select 1 as one`

/** Fails once the silence was looked at more than once. */
async function given(t: Test, work: PromiseLike<unknown>): Promise<void> {
  const error = await Promise.resolve(work).then(
    () => null,
    (error: unknown) => error,
  )
  t.match(error, { code: 'CONNECTION_CLOSED' })
  t.ok(isUnavailable(error), 'it is tried again')
}

t.test('a statement of a forgotten connection fails, and the next one is answered', async (t) => {
  const { between, made, sql } = await forgetful(t)
  await ask(sql)
  await made.pipeline.many('brand_ids')
  between.forget()
  await given(t, Promise.all([ask(sql), made.pipeline.many('brand_ids')]))
  t.match([...(await ask(sql))], one)
})

t.test('so does one whose session has ended meanwhile', async (t) => {
  const { between, sql } = await forgetful(t)
  const [{ pid } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  between.forget()
  await owner`select pg_terminate_backend(${pid ?? 0})`
  await given(t, ask(sql))
  t.match([...(await ask(sql))], one)
})

t.test('so does one of which most could not be sent', async (t) => {
  const { between, sql } = await forgetful(t)
  await ask(sql)
  between.forget()
  await given(t, sql`select length(${'x'.repeat(20 << 20)}) as one`)
})

t.test('so does one of a brand, and the rest of a transaction', async (t) => {
  const { between, made } = await forgetful(t)
  const brand = made.forBrand('6ba7b810-9dad-41d1-80b4-00c04fd430c8')
  const list = () => brand.many('contacts_of_customers', [[1], [null], [null]])
  await list()
  between.forget()
  await given(t, list())
  t.same(await list(), [])
  await given(
    t,
    made.sql.begin(async (tx) => {
      await tx`select 1`
      between.forget()
      await tx`select 1`
    }),
  )
  t.match([...(await ask(made.sql))], one)
})

t.test(
  'connections that had nothing to do are made anew with the first one that was forgotten',
  async (t) => {
    const { between, sql } = await forgetful(t, { max: 3 })
    const three = () => Promise.all([ask(sql), ask(sql), ask(sql)])
    await three()
    between.forget()
    await given(t, ask(sql))
    t.match(await three(), [one, one, one])
  },
)

t.test('a forgotten connection that ended since nobody used it is not lost to its pool', async (t) => {
  const { between, sql } = await forgetful(t)
  await ask(sql)
  between.forget()
  // In the driver, though not in its types: each connection is to end, and the pool goes on.
  void (sql as typeof sql & { close(): Promise<void> }).close()
  t.match([...(await ask(sql))], one)
})

t.test('a statement that takes long is answered', async (t) => {
  const { between, sql, another } = await forgetful(t)
  await ask(sql)
  between.forget()
  await owner`select pg_advisory_lock(1)`
  const long = another()`select pg_advisory_lock(1), 1 as one`.execute()
  await eventually(
    async () => (await owner`select from pg_locks where locktype = 'advisory' and not granted`).count,
  )
  await given(t, ask(sql))
  await owner`select pg_advisory_unlock(1)`
  t.match([...(await long)], one)
})

t.test('a copy that is read slowly goes on', async (t) => {
  const { between, sql, another } = await forgetful(t)
  await ask(sql)
  between.forget()
  const copy = await another()
    .unsafe("copy (select repeat('x', 1023) from generate_series(1, 20000)) to stdout")
    .readable()
  await given(t, ask(sql))
  let bytes = 0
  for await (const chunk of copy) bytes += (chunk as Buffer).length
  t.equal(bytes, 20_000 * 1024)
})

t.test('a statement of which less is unsent each time is not given up', async (t) => {
  const { connections, stop } = watchSilence(db.url, { silentMs: 0, lookMs: 20 })
  t.teardown(stop)
  const dropped: string[] = []
  let unsent = 1_000_000
  const connection = (name: string, left: () => number): Watched => ({
    heard: 0,
    waits: () => !dropped.includes(name),
    unsent: left,
    session: () => ({ pid: 0 }),
    drop: () => dropped.push(name),
    dropIdle: () => {},
  })
  connections.add(connection('sends', () => --unsent))
  connections.add(connection('stands', () => 7))
  await eventually(async () => dropped.length && unsent < 999_995)
  t.same(dropped, ['stands'])
})

t.test('a transaction in which nothing is asked goes on', async (t) => {
  const { between, sql, another } = await forgetful(t)
  await ask(sql)
  between.forget()
  await another().begin(async (tx) => {
    await tx`select 1`
    await given(t, ask(sql))
    t.match([...(await tx`select 1 as one`)], one)
  })
})

t.test('nothing is ended by the numbers of something in between that has its own', async (t) => {
  const { between, sql } = await forgetful(t)
  let sessions = 0
  between.rewrite = (reply) => {
    const at = reply.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
    if (at >= 0) reply.writeUInt32BE(4_000_000 + ++sessions, at + 5)
    return reply
  }
  await owner`select pg_advisory_lock(2)`
  const long = sql`select pg_advisory_lock(2), 1 as one`.execute()
  await eventually(async () => sessions > 5)
  await owner`select pg_advisory_unlock(2)`
  t.match([...(await long)], one)
})

t.test('what is silent for long while nobody answers a new connection is given up', async (t) => {
  const { between, sql } = await forgetful(t, { awayMs: 100 })
  await ask(sql)
  between.forget()
  between.refuse()
  await given(t, ask(sql))
  await t.rejects(ask(sql), { code: 'ECONNREFUSED' })
})

t.test('a host that cannot be reached is away', async (t) => {
  for (const code of ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']) t.ok(isUnavailable({ code }), code)
})

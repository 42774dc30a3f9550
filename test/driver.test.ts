import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import postgres from 'postgres'
import t from 'tap'
import { isUnavailable } from '../src/errors.ts'
import connect from '../src/store/driver.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'

/** Connections that end at moments that the driver did not expect, copies that are read slowly, and bytes. */
const db = await database(t)
const owner = postgres(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => owner.end())
await owner`create table went_on (n integer)`
await owner`grant all on went_on to recoup_pipeline`

const pool = () => {
  const sql = db.postgres.pool({ max: 1 })
  t.teardown(() => sql.end({ timeout: 1 }))
  return sql
}
/** Ends the session that a statement ran in, and lets the driver notice. */
async function end(run: (text: string) => PromiseLike<Iterable<Record<string, unknown>>>): Promise<void> {
  const [{ pid } = {}] = [...(await run('select pg_backend_pid() as pid'))]
  await owner`select pg_terminate_backend(${Number(pid)})`
  while ((await owner`select from pg_stat_activity where pid = ${Number(pid)}`).count);
  await new Promise((resolve) => setTimeout(resolve, 20))
}

t.test('a transaction whose connection ended fails, and the rest of it does not go on outside', async (t) => {
  const sql = pool()
  const work = Promise.withResolvers<unknown>()
  const failed = sql.begin(async (tx) => {
    await tx`insert into went_on values (1)`
    await end((text) => tx.unsafe(text))
    // The one connection of the pool is made again.
    await sql`select 1`
    await tx`insert into went_on values (2)`.then(work.resolve, work.resolve)
  })
  await t.rejects(failed, { code: 'CONNECTION_CLOSED' })
  t.match(await work.promise, { code: 'CONNECTION_CLOSED' })
  t.same([...(await owner`select n from went_on`)], [])
})

t.test(
  'a transaction that says nothing is ended, what it locked is free, and the rest of it fails',
  async (t) => {
    const settings = `select name, setting from pg_settings
    where name = 'idle_in_transaction_session_timeout' or name like 'tcp_keepalives%' order by name`
    for (const sql of [db.postgres.sql, pool()])
      t.match(await sql.unsafe(settings), [
        { name: 'idle_in_transaction_session_timeout', setting: '30000' },
        { name: 'tcp_keepalives_count', setting: '4' },
        { name: 'tcp_keepalives_idle', setting: '20' },
        { name: 'tcp_keepalives_interval', setting: '5' },
      ])
    const [locked, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const begun = pool().begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 50`
      await tx`select from lake_state for update`
      locked.resolve()
      await freed.promise
      await tx`select 1`
    })
    const failed = begun.catch((error) => error)
    await locked.promise
    await owner`select from lake_state for update`
    freed.resolve()
    t.ok(isUnavailable(await failed), 'it is tried again')
  },
)

t.test('a reserved connection that ended fails its statements, and is not given back twice', async (t) => {
  const sql = pool()
  const reserved = await sql.reserve()
  await end((text) => reserved.unsafe(text))
  await t.rejects(reserved`select 1`, { code: 'CONNECTION_CLOSED' })
  t.match([...(await sql`select 1 as one`)], [{ one: 1 }])
  await t.rejects(reserved`select 1`, { code: 'CONNECTION_CLOSED' })
  reserved.release()
  const [one, other] = [await sql.reserve(), sql.reserve()]
  t.match([...(await one`select 1 as one`)], [{ one: 1 }])
  one.release()
  ;(await other).release()
})

t.test(
  'a statement that cannot be sent fails alone, whatever was sent before it and comes behind it',
  async (t) => {
    const sql = pool()
    const reserved = await sql.reserve()
    for (const wrong of [undefined, new Date(Number.NaN)]) {
      const answers = await Promise.allSettled(
        [1, wrong, 3].map((value) =>
          reserved.unsafe('select $1::text as value', [value as never], { prepare: true }),
        ),
      )
      t.match(answers, [{ value: [{ value: '1' }] }, { status: 'rejected' }, { value: [{ value: '3' }] }])
    }
    reserved.release()
    t.match([...(await sql`select 4 as four`)], [{ four: 4 }])
  },
)

t.test('a statement of a brand that cannot be sent fails, and gives its connection back', async (t) => {
  const one = db.postgres.forBrand(randomUUID())
  await Promise.all(
    Array.from({ length: 20 }, () =>
      t.rejects(one.many('contacts_of_customers', [[1], [undefined], [null]]), { code: 'UNDEFINED_VALUE' }),
    ),
  )
  t.same(await one.many('contacts_of_customers', [[1], [null], [null]]), [])
})

t.test('who waits for a connection of its own gets one when the one before it ended', async (t) => {
  const sql = pool()
  const first = await sql.reserve()
  const second = sql.reserve()
  await end((text) => first.unsafe(text))
  const got = await second
  t.match([...(await got`select 1 as one`)], [{ one: 1 }])
  got.release()
})

t.test('a connection that was to end while it was reserved ends when it is given back', async (t) => {
  const sql = pool()
  for (const under of [false, true]) {
    const reserved = await sql.reserve()
    const [old] = await reserved`select pg_backend_pid() as pid`
    // In the driver, though not in its types: each connection is to end, as after its longest life, and the pool goes on.
    const closed = (sql as typeof sql & { close(): Promise<void> }).close()
    const last = under && reserved`select 1 as one`.execute()
    // A statement is sent in the next turn.
    await null
    reserved.release()
    for (let n = 0; n < 3; n++) {
      const [{ pid } = {}] = await sql`select pg_backend_pid() as pid`
      t.not(pid, old?.pid)
    }
    if (last) t.match([...(await last)], [{ one: 1 }])
    await closed
  }
})

t.test('a pool that ends answers who waits, and does not wait for what is given back', async (t) => {
  const sql = pool()
  const reserved = await sql.reserve()
  const waiting = sql`select 1 as one`.execute()
  const ended = sql.end()
  reserved.release()
  t.match([...(await waiting)], [{ one: 1 }])
  await ended
})

t.test('a statement fails when its connection is closed before the session begins', async (t) => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.once('data', () => socket.end())
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const to = (more: number[]) => {
    const hosts = [port, ...more].map((one) => `127.0.0.1:${one}`)
    const sql = connect(db.url.replace(/127\.0\.0\.1:\d+/, hosts.join()), { max: 1 })
    t.teardown(() => sql.end({ timeout: 0 }))
    return sql
  }
  const sql = to([])
  await t.rejects(sql`select 1`, { code: 'CONNECTION_CLOSED' })
  await t.rejects(sql.reserve(), { code: 'CONNECTION_CLOSED' })
  t.equal(connections, 2)
  t.match([...(await to([Number(new URL(db.url).port)])`select 1 as one`)], [{ one: 1 }], 'the next host')
})

t.test('a connection that ended is as good as new when it is made again', async (t) => {
  const sql = pool()
  for (let round = 0; round < 10; round++) {
    const [{ pid } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const under = Promise.allSettled([
      sql`select pg_terminate_backend(${pid ?? 0})`,
      ...Array.from({ length: 5 }, (_, n) => sql`select ${n}::integer as n`),
    ])
    await under
    t.match([...(await sql`select ${round}::integer as round`)], [{ round }])
  }
})

/** The text of `copy … to stdout`, of rows of 1 KB. */
const copyOf = (sql: postgres.Sql, rows: number) =>
  sql.unsafe(`copy (select repeat('x', 1023) from generate_series(1, ${rows})) to stdout`).readable()

t.test('a connection goes on after a copy that was read slower than it came', async (t) => {
  const sql = pool()
  for (let rows = 60; rows < 460; rows += 20) {
    const copy = await copyOf(sql, rows)
    // All that the socket holds has come before anything is read.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    let bytes = 0
    for await (const chunk of copy) {
      bytes += (chunk as Buffer).length
      await new Promise(setImmediate)
    }
    t.equal(bytes, rows * 1024)
    t.match([...(await sql`select ${rows}::integer as rows`)], [{ rows }])
  }
})

t.test('a connection goes on after a copy that nobody read to its end', async (t) => {
  const sql = pool()
  const copy = await copyOf(sql, 5_000)
  for await (const _ of copy) break
  t.ok(copy.destroyed)
  t.match([...(await sql`select 1 as one`)], [{ one: 1 }])
})

t.test('a copy into a table that fails after its last byte is heard of', async (t) => {
  await owner`create table copied (n integer primary key)`
  await owner`grant all on copied to recoup_pipeline`
  const sql = pool()
  const failed = sql.begin(async (tx) => {
    await pipeline(Readable.from(['1\n1\n']), await tx`copy copied from stdin`.writable())
  })
  await t.rejects(failed, { code: '23505' })
  t.match([...(await sql`select 1 as one`)], [{ one: 1 }])
})

t.test('a copy whose connection ended fails', async (t) => {
  const sql = pool()
  const [{ pid } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const copy = await copyOf(sql, 50_000)
  await t.rejects(async () => {
    for await (const _ of copy) await owner`select pg_terminate_backend(${Number(pid)})`
  })
  t.match([...(await sql`select 1 as one`)], [{ one: 1 }])
})

t.test('nothing that is sent waits for an acknowledgement of what was sent before', async (t) => {
  const calls = t.capture(Socket.prototype, 'setNoDelay', Socket.prototype.setNoDelay)
  await pool()`select 1`
  t.match(calls(), [{ args: [true] }])
})

t.test('a time arrives as exactly as its text says, also in a list', async (t) => {
  const sql = pool()
  const clock = "to_char(at at time zone 'UTC', 'HH24:MI:SS.US') as clock"
  for (const [sent, clockThere] of [
    ['2026-05-01T12:00:00.123456Z', '12:00:00.123456'],
    ['2026-05-01T14:00:00.123+02:00', '12:00:00.123000'],
    ['2026-05-01', '00:00:00.000000'],
  ] as const) {
    const [one] = await sql.unsafe(`select ${clock} from (select $1::timestamptz as at)`, [sent])
    const [listed] = await sql.unsafe(`select ${clock} from unnest($1::timestamptz[]) as at`, [[sent]])
    t.match([one, listed], [{ clock: clockThere }, { clock: clockThere }], sent)
  }
  const [{ there } = {}] =
    await sql`select ${new Date(1)}::timestamptz = 'epoch'::timestamptz + interval '1 ms' as there`
  t.equal(there, true, 'a Date')
})

t.test('bytes arrive as they are, beside other values', async (t) => {
  const sql = pool()
  const all = Buffer.from(Array.from({ length: 70_000 }, (_, n) => n % 256))
  for (const bytes of [all, Buffer.alloc(0), all.subarray(1, 3), null]) {
    for (const prepare of [true, false]) {
      const text = 'select $1::text as before, $2::bytea as bytes, $3::integer as after, $4::bytea as more'
      const [row] = await sql.unsafe(text, ['ä', bytes, 7, bytes], { prepare })
      t.same(row, { before: 'ä', bytes, after: 7, more: bytes })
    }
  }
})

t.test(
  'long bytes arrive as they are, last and before others, of statements that follow at once',
  async (t) => {
    const sql = pool()
    const texts = [
      'select $1::text as name, $2::bytea as bytes',
      'select $2::bytea as bytes, $1::text as name',
    ]
    const sizes = [65_536, 7, 1_500_000, 65_535, 0, 70_000]
    for (const prepare of [true, false]) {
      // The second time the statements are known to the server.
      for (const round of [1, 2]) {
        const rows = sizes.flatMap((size) =>
          [...texts, 'select $1::bytea as bytes, $2::text as name'].map(async (text, n) => {
            const sent = { name: `${size} ${n} ${round}`, bytes: randomBytes(size) }
            const values = n === 2 ? [sent.bytes, sent.name] : [sent.name, sent.bytes]
            const [row] = await sql.unsafe(text, values, { prepare })
            return row?.name === sent.name && sent.bytes.equals(row.bytes)
          }),
        )
        t.same(
          await Promise.all(rows),
          Array(sizes.length * 3).fill(true),
          `prepared: ${prepare}, round ${round}`,
        )
      }
    }
  },
)

t.test('long bytes arrive as they are in statements of a transaction that are sent at once', async (t) => {
  const sent = [3_000_000, 9, 65_536, 80_000].map((size) => randomBytes(size))
  const arrived = await pool().begin((tx) =>
    Promise.all(sent.map((bytes) => tx.unsafe('select $1::bytea as bytes', [bytes], { prepare: true }))),
  )
  t.ok(arrived.every(([row], n) => sent[n]?.equals(row?.bytes)))
})

t.test(
  'a connection that ends while long bytes are sent fails their statement, and is made again',
  async (t) => {
    const sql = pool()
    const send = () =>
      sql.unsafe('select length($1::bytea) as bytes', [randomBytes(20 << 20)], { prepare: true })
    t.match(await send(), [{ bytes: 20 << 20 }])
    const [{ pid } = {}] = await sql`select pg_backend_pid() as pid`
    // Ended before, in or after the statement; heard from the beginning, since it may fail while the end is asked for.
    const heard = send().then(
      (rows) => t.match(rows, [{ bytes: 20 << 20 }]),
      (error) => t.match(error.code, /CONNECTION_CLOSED|57P01|ECONNRESET|EPIPE/),
    )
    await owner`select pg_terminate_backend(${Number(pid)})`
    await heard
    await eventually(async () => t.match(await send(), [{ bytes: 20 << 20 }]))
  },
)

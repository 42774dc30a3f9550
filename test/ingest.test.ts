import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { zstdDecompressSync } from 'node:zlib'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { createAuthenticator } from '../src/access/authenticate.ts'
import { createKey } from '../src/access/key.ts'
import { CHECKOUT } from '../src/config.ts'
import { Failure } from '../src/errors.ts'
import { openBatcher } from '../src/event/batcher.ts'
import { Compressor } from '../src/event/compressor.ts'
import { type Ingest, openIngest } from '../src/event/ingest.ts'
import { LineMemory } from '../src/event/line-memory.ts'
import { Unsettled } from '../src/event/log.ts'
import { FairQueue } from '../src/event/queue.ts'
import type { EventLine } from '../src/event/shape.ts'
import { Shedder, watchLoop } from '../src/event/shed.ts'
import { type Collecting, collectRoutes } from '../src/http/collect.ts'
import { createServer } from '../src/http/server.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { migrate } from '../src/store/migrate.ts'
import { openPostgres, type Postgres } from '../src/store/postgres.ts'
import { type BrandOptions, brand as makeBrand } from './fixtures/brand.ts'
import { cluster } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { proxy } from './fixtures/proxy.ts'
import { randomSource } from './fixtures/random.ts'

// What is tested here is logged as warnings, by the hundred.
setLogLevel('error')

const event = { eventType: 'product_viewed', email: 'ann@example.com', properties: { product_id: '7' } }
const bodyOf = (...events: object[]) => Buffer.from(JSON.stringify({ events }))

/** Rows of the log, each as its lines. */
async function batches(db: Pick<Postgres, 'sql'>): Promise<EventLine[][]> {
  const rows = await db.sql<
    { event_count: number; payload: Buffer }[]
  >`select event_count, payload from event_log order by xid, batch_id`
  return rows.map(({ event_count, payload }) => {
    const lines = zstdDecompressSync(payload).toString().split('\n').slice(0, -1)
    if (lines.length !== event_count) throw new Error(`${lines.length} lines, not ${event_count}`)
    return lines.map((line) => JSON.parse(line))
  })
}
const storedIds = async (db: Pick<Postgres, 'sql'>) => (await batches(db)).flat().map((line) => line.event_id)

/** It sheds no load of a busy machine, but for who asks for that. */
async function ingestOf(t: Test, db: Postgres, options?: Parameters<typeof openIngest>[1]): Promise<Ingest> {
  const ingest = await openIngest(db, { shedder: { takes: () => true }, ...options })
  t.teardown(() => ingest.close())
  return ingest
}

interface Answer {
  status: number
  headers: Headers
  body: {
    accepted?: number
    failed?: number[]
    deduplicated?: number
    message?: string
    rejected?: object[]
    error?: { code: string; message: string }
  }
}

/** The port of the collect host alone. */
async function serve(t: Test, parts: Collecting): Promise<number> {
  const server = createServer(collectRoutes(parts))
  t.teardown(() => server.drain(1_000))
  return await server.listen('127.0.0.1', 0)
}

/** The collect host over a database, and a brand that may use it. */
async function host(t: Test, db: Postgres, { ingest, ...options }: BrandOptions & { ingest?: Ingest } = {}) {
  const brand = await makeBrand({ postgres: db }, { features: ['cdp'], ...options })
  const { plaintext: key } = await createKey(db.forBrand(brand.id), { scopes: ['segments:read'] })
  const port = await serve(t, {
    authenticator: createAuthenticator(db.pipeline),
    ingest: ingest ?? (await ingestOf(t, db)),
  })
  const send = async (
    body: string | Buffer,
    headers: Record<string, string> = {},
    method = 'POST',
  ): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}/cdp/events`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
      ...(method === 'GET' ? {} : { body }),
    })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Answer['body'],
    }
  }
  return { brand, key, send, port }
}

/** A cluster of the test's own with the schema and a brand. */
async function ownCluster(t: Test) {
  const server = await cluster(t)
  await migrate(server.url)
  const db = openPostgres(server.url)
  t.teardown(() => db.close())
  return { server, db, brand: await makeBrand({ postgres: db }, { features: ['cdp'] }) }
}

const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  )
const isUnavailable = (error: unknown) =>
  error instanceof Failure && error.code === 'unavailable' && !('failed' in error.beside)

t.test('POST /cdp/events', async (t) => {
  const { postgres: db } = await database(t)
  const { brand, key, send, port } = await host(t, db)

  t.test('answers 200 once the events are in the log', async (t) => {
    const answer = await send(
      bodyOf({ ...event, eventId: 'a' }, { ...event, eventId: 'a' }, { ...event, eventId: 'b' }),
    )
    t.equal(answer.status, 200)
    t.same(answer.body, { accepted: 2, deduplicated: 1 })
    t.ok(answer.headers.get('x-request-id'))
    const lines = (await batches(db)).flat()
    t.match(lines, [
      {
        brand_id: brand.id,
        event_id: 'a',
        event_type: 'product_viewed',
        email: 'ann@example.com',
        properties: { product_id: '7' },
      },
      { event_id: 'b' },
    ])
    t.ok(Math.abs(Number(lines[0]?.received_at) - Date.now()) < 60_000)
  })
  t.test('reads JSON whatever Content-Type says', async (t) => {
    t.match(await send(bodyOf(event), { 'content-type': 'text/plain' }), { status: 200 })
  })
  t.test('takes 262,144 bytes and no more', async (t) => {
    const sized = (bytes: number) =>
      bodyOf({
        ...event,
        properties: { x: 'x'.repeat(bytes - bodyOf({ ...event, properties: { x: '' } }).length) },
      })
    t.equal(sized(262_144).length, 262_144)
    t.match(await send(sized(262_144)), { status: 200 })
    t.match(await send(sized(262_145)), { status: 413, body: { error: { code: 'bad_request' } } })
  })
  t.test('refuses with rejected beside the error, and stores nothing of the request', async (t) => {
    const id = randomUUID()
    const answer = await send(bodyOf({ ...event, eventId: id }, { ...event, scope: 'other.myshopify.com' }))
    t.match(answer, {
      status: 400,
      body: {
        error: { code: 'bad_request' },
        rejected: [{ index: 1, path: 'events[1].scope', message: String }],
      },
    })
    t.notOk((await storedIds(db)).includes(id))
  })
  t.test('refuses a compressed body with 400', async (t) => {
    t.match(await send(bodyOf(event), { 'content-encoding': 'gzip' }), {
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
  })
  t.test(
    'answers 401 to a credential that is missing, wrong or of a provider, before it looks at the body',
    async (t) => {
      const { plaintext: provider } = await createKey(db.forBrand(brand.id), {
        scopes: ['providers:read'],
        keyClass: 'brand-api',
      })
      for (const authorization of ['', 'Bearer nonsense', `Basic ${key}`, `Bearer ${provider}`]) {
        t.match(await send('not json', { authorization }), {
          status: 401,
          body: { error: { code: 'unauthorized' } },
        })
      }
    },
  )
  t.test(
    'says to whom it answers 401 how to authenticate, also with a credential of another kind',
    async (t) => {
      const keyClass = 'brand-api'
      const made = await createKey(db.forBrand(brand.id), { scopes: ['providers:read'], keyClass })
      for (const authorization of ['', `Bearer ${made.plaintext}`])
        t.match((await send('not json', { authorization })).headers.get('www-authenticate'), /^Bearer/)
    },
  )
  t.test('answers 403 without customer-data features', async (t) => {
    const other = await host(t, db, { features: [] })
    t.match(await other.send('not json'), { status: 403, body: { error: { code: 'insufficient_scope' } } })
  })
  t.test('answers 403 to a brand without a store, or whose store has removed the app', async (t) => {
    const caller = { kind: 'key', id: 'k', brandId: brand.id, scopes: [], keyClass: 'cdp' } as const
    for (const without of [{ shop_domain: '' }, { store_left: true }]) {
      const port = await serve(t, {
        authenticator: { authenticate: () => ({ caller, brand: { ...brand, ...without } }) },
        ingest: await ingestOf(t, db),
      })
      const response = await fetch(`http://127.0.0.1:${port}/cdp/events`, {
        method: 'POST',
        body: bodyOf(event),
      })
      t.match([response.status, await response.json()], [403, { error: { code: 'insufficient_scope' } }])
    }
  })
  t.test('answers 400 to a body without an array of at most fifty events, and stores nothing', async (t) => {
    const bodies = ['', '{', '[]', 'null', '{}', '{"events":{}}', '{"events":[]}']
    for (const body of [...bodies, bodyOf(...Array(51).fill(event)), bodyOf(event, { ...event, source: {} })])
      t.match(await send(body), { status: 400, body: { error: { code: 'bad_request' } } }, String(body))
  })
  t.test('answers another method or path with a 404 that has only a message', async (t) => {
    const requests: [path: string, method: string][] = [
      ...['GET', 'PUT', 'DELETE', 'PATCH'].map((method) => ['', method] as [string, string]),
      ...['/', '/x', '.json'].map((path) => [path, 'POST'] as [string, string]),
    ]
    for (const [path, method] of requests) {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`http://127.0.0.1:${port}/cdp/events${path}`, { method, headers })
      t.same([response.status, await response.json()], [404, { message: 'Not Found' }], `${method} ${path}`)
      t.equal(response.headers.get('x-request-id'), null)
    }
  })
  t.test('answers 500 to what nobody expected, without saying what it was', async (t) => {
    t.capture(process.stderr, 'write')
    const ingest = await ingestOf(t, db)
    const failing = await host(t, db, {
      ingest: { ...ingest, accept: () => Promise.reject(new Error('secret detail')) },
    })
    const answer = await failing.send(bodyOf(event))
    t.match(answer, { status: 500, body: { error: { code: 'internal' } } })
    t.notMatch(JSON.stringify(answer.body), /secret/)
  })
  t.test(
    'answers 503 with the indexes of single events that could not be stored, and stores the others',
    async (t) => {
      const ingest = await ingestOf(t, db, { fault: (index) => index === 1 || index === 3 })
      const faulty = await host(t, db, { ingest })
      const ids = Array.from({ length: 4 }, () => randomUUID())
      const answer = await faulty.send(bodyOf(...ids.map((eventId) => ({ ...event, eventId }))))
      t.match(answer, { status: 503, body: { error: { code: 'unavailable' }, accepted: 2, failed: [1, 3] } })
      const stored = await storedIds(db)
      t.same(
        ids.map((id) => stored.includes(id)),
        [true, false, true, false],
      )
    },
  )

  t.test(
    'a process that does not keep up answers 503 before it reads a body, and heals by itself',
    async (t) => {
      let lagging = true
      const late = await host(t, db, {
        ingest: await ingestOf(t, db, { shedder: { takes: () => !lagging } }),
      })
      const sent = request(`http://127.0.0.1:${late.port}/cdp/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${late.key}`, 'content-length': 200_000 },
      })
      sent.on('error', () => {})
      sent.flushHeaders()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      t.equal(answer.statusCode, 503)
      t.match(JSON.parse((await answer.toArray()).join('')), { error: { code: 'unavailable' } })
      sent.destroy()
      lagging = false
      t.match(await late.send(bodyOf(event)), { status: 200 })
    },
  )

  t.test('a client that leaves in the middle of its body takes no room from the next one', async (t) => {
    const ingest = await ingestOf(t, db, { brandBytes: 300_600 })
    const small = await host(t, db, { ingest })
    const sent = request(`http://127.0.0.1:${small.port}/cdp/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${small.key}`, 'content-length': 200_000 },
    })
    sent.on('error', () => {})
    sent.write('{"events":[')
    await eventually(async () => (await small.send(bodyOf(event))).status === 503)
    sent.destroy()
    await eventually(async () => (await small.send(bodyOf(event))).status === 200)
  })

  const documents = join(CHECKOUT, '../shared/data/json/test_parsing')
  t.test(
    'no document of the JSON test suite is more than a 400',
    { skip: !existsSync(documents) && '../shared/data/json is not here' },
    async (t) => {
      for (const file of readdirSync(documents)) {
        t.match(
          await send(readFileSync(join(documents, file))),
          { status: 400, body: { error: { code: 'bad_request' } } },
          file,
        )
      }
      t.match(await send(bodyOf(event)), { status: 200 })
    },
  )
})

t.test('record batches', async (t) => {
  const { postgres: db } = await database(t)
  const brands: Brand[] = []
  for (let n = 0; n < 40; n++) brands.push(await makeBrand({ postgres: db }))
  const ids = brands.map(({ id }) => id)

  t.test('requests that wait together are one row, and no request is in two', async (t) => {
    const ingest = await ingestOf(t, db)
    await Promise.all(
      ids.map((id, n) =>
        ingest.accept(bodyOf({ ...event, eventId: `${n}-0` }, { ...event, eventId: `${n}-1` }), id),
      ),
    )
    const rows = await batches(db)
    t.equal(rows.flat().length, 80)
    t.ok(rows.length <= 3, `${rows.length} rows`)
    for (const n of ids.keys()) {
      const at = rows.map((lines) => lines.filter(({ event_id }) => event_id?.startsWith(`${n}-`)).length)
      t.same(at.filter(Boolean), [2])
    }
  })
  t.test('a hostile event among the requests of 40 brands spoils its own request only', async (t) => {
    const ingest = await ingestOf(t, db)
    const hostile = [
      '{"a":"\\u0000"}',
      '{"a":"\\ud800"}',
      '{"a":1e999999}',
      '{"a":'.repeat(32_000),
      '{"__proto__":1}',
      `{"a":${'['.repeat(40)}${']'.repeat(40)}}`,
    ]
    for (const properties of hostile) {
      const victim = Math.floor(ids.length / 2)
      const outcomes = await Promise.allSettled(
        ids.map((id, n) =>
          ingest.accept(
            n === victim
              ? Buffer.from(`{"events":[{"eventType":"a","email":"a@b.c","properties":${properties}}]}`)
              : bodyOf(event),
            id,
          ),
        ),
      )
      t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 39)
      t.match(outcomes[victim], { status: 'rejected', reason: { code: 'bad_request' } })
    }
  })
  t.test('a brand over its bytes gets 503, another is accepted', async (t) => {
    const batcher = await openBatcher(db, { brandBytes: 20_000 })
    t.teardown(() => batcher.close())
    const [one = '', other = ''] = ids
    const lines = Buffer.from(`${JSON.stringify({ brand_id: one, properties: { x: 'x'.repeat(9_000) } })}\n`)
    const first = [batcher.store(one, lines, 1), batcher.store(one, lines, 1)]
    t.throws(() => batcher.store(one, lines, 1), { code: 'unavailable' })
    await Promise.all([...first, batcher.store(other, lines, 1)])
    await batcher.store(one, lines, 1)
  })
  t.test('a body that is being read has its room until it is stored or given up', async (t) => {
    const batcher = await openBatcher(db, { brandBytes: 20_000 })
    t.teardown(() => batcher.close())
    const [one = '', other = ''] = ids
    const release = batcher.admit(one, 9_000)
    t.throws(() => batcher.admit(one, 9_000), { code: 'unavailable' })
    batcher.admit(other, 9_000)()
    release()
    release()
    batcher.admit(one, 9_000)()
  })
  t.test('bodies that pages announce leave half of the room to servers', async (t) => {
    const batcher = await openBatcher(db, { brandBytes: 20_000, totalBytes: 60_000 })
    t.teardown(() => batcher.close())
    const [one = '', other = ''] = ids
    let networks = 0
    const page = (brandId: string) => batcher.admit(brandId, 2_000, `network ${networks++}`)
    const refused = { code: 'unavailable' }
    const open = [page(one), page(one)]
    t.throws(() => page(one), refused)
    const server = batcher.admit(one, 6_000)
    server()
    open.push(page(other), page(other), page('third'), page('third'), page('fourth'), page('fourth'))
    t.throws(() => page('fifth'), refused, 'those of all brands together')
    batcher.admit('fifth', 9_000)()
    for (const release of open) release()
    page(one)()
  })
  t.test('one network has an eighth of the room of pages, and for one body in any case', async (t) => {
    const batcher = await openBatcher(db, { brandBytes: 160_000 })
    t.teardown(() => batcher.close())
    const [one = '', other = ''] = ids
    const open = [batcher.admit(one, 2_000, 'loud'), batcher.admit(other, 2_000, 'loud')]
    t.throws(() => batcher.admit(one, 2_000, 'loud'), { code: 'unavailable' }, 'of all brands together')
    for (let n = 0; n < 15; n++) batcher.admit(one, 2_000, 'another')()
    batcher.admit(one, 2_000)()
    for (const release of open) release()
    batcher.admit(one, 9_000, 'loud')()
  })
  t.test('brands that fill the memory leave room for one that comes later', async (t) => {
    const batcher = await openBatcher(db, { totalBytes: 100_000 })
    t.teardown(() => batcher.close())
    const lines = Buffer.from(`${JSON.stringify({ properties: { x: 'x'.repeat(1_000) } })}\n`)
    const stored: Promise<void>[] = []
    for (const id of ids.slice(0, 4)) {
      t.throws(
        () => {
          for (;;) stored.push(batcher.store(id, lines, 1))
        },
        { code: 'unavailable' },
      )
    }
    stored.push(batcher.store(ids[5] as string, lines, 1))
    await Promise.all(stored)
  })
  t.test('close finishes what waits and takes nothing more', async (t) => {
    const ingest = await openIngest(db)
    const eventId = randomUUID()
    const waiting = ingest.accept(bodyOf({ ...event, eventId }), ids[0] as string)
    await Promise.all([ingest.close(), ingest.close()])
    t.same(await waiting, { accepted: 1, deduplicated: 0 })
    t.ok((await storedIds(db)).includes(eventId))
    t.ok(isUnavailable(await failureOf(ingest.accept(bodyOf(event), ids[0] as string))))
  })
  t.test('a batch is one zstd frame of its lines, whatever its size', async (t) => {
    const compressor = new Compressor()
    t.teardown(() => compressor.close())
    for (const bytes of [1, 300, 70_000, 1_500_000, 300]) {
      const lines = randomBytes(bytes)
      const payload = await compressor.compress([lines.subarray(0, bytes >> 1), lines.subarray(bytes >> 1)])
      t.ok(zstdDecompressSync(payload).equals(lines), `${bytes} bytes`)
    }
  })
  t.test(
    'lines that wait stay as they are until they are given back, in the same few megabytes',
    async (t) => {
      const random = randomSource(t)
      const memory = new LineMemory()
      const waiting: { kept: Buffer; sent: Buffer }[] = []
      const pieces = new Set<ArrayBufferLike>()
      let [own, changed] = [0, 0]
      for (let step = 0; step < 20_000; step++) {
        // Seldom more than all pieces hold, and a few times nothing.
        const most = [0, 10, 400][Math.floor(step / 1_000) % 3] as number
        while (waiting.length > most) {
          const [{ kept, sent }] = waiting.splice(random.below(waiting.length), 1) as [(typeof waiting)[0]]
          if (!kept.equals(sent)) changed++
          memory.giveBack(kept)
        }
        const sent = Buffer.alloc(random.pick([0, 1, 300, 300, 4_000, 90_000]), step)
        // As the buffer that all requests are read into.
        const lines = Buffer.from(sent)
        const kept = memory.keep(lines)
        lines.fill(0)
        waiting.push({ kept, sent })
        if (kept.buffer.byteLength === 1 << 20) pieces.add(kept.buffer)
        else own++
      }
      t.equal(changed, 0)
      t.ok(pieces.size === 16 && own > 0, `${pieces.size} pieces, ${own} kept beside them`)
      const long = Buffer.alloc((1 << 20) + 1, 1)
      t.ok(memory.keep(long).equals(long), 'also those longer than a piece')
    },
  )
  t.test('while one brand offers 95 % of too much, the others get all they ask for, at once', async (t) => {
    const queue = new FairQueue<{ brandId: string; bytes: number; since: number }>()
    const others = ids.slice(1, 11)
    const capacity = 400_000
    let taken = 0
    // Each round one brand offers 950 KB, ten others 5 KB each, and 400 KB are taken.
    for (let round = 0; round < 500; round++) {
      for (let n = 0; n < 190; n++) queue.push({ brandId: 'loud', bytes: 5_000, since: round })
      for (const brandId of others) queue.push({ brandId, bytes: 5_000, since: round })
      const batch = queue.take(capacity)
      taken += batch.reduce((sum, { bytes }) => sum + bytes, 0)
      const served = batch.filter(({ brandId }) => brandId !== 'loud')
      if (served.length !== 10 || served.some(({ since }) => since !== round))
        t.fail(`round ${round}: ${served.length} of 10`)
    }
    t.ok(taken >= 500 * (capacity - 5_000), 'and no batch is less than full')
  })
  t.test('a batch that is smaller than a turn of a brand is shared all the same', async (t) => {
    const queue = new FairQueue<{ brandId: string; bytes: number; since: number }>()
    for (let n = 0; n < 1_000; n++) queue.push({ brandId: 'loud', bytes: 700, since: n })
    for (let round = 0; round < 50; round++) {
      queue.push({ brandId: 'small', bytes: 700, since: round })
      if (!queue.take(4_096).some(({ brandId }) => brandId === 'small')) t.fail(`not in batch ${round}`)
    }
    t.ok(queue.size > 0)
  })
  t.test('brands that always wait get the same bytes, whatever their requests weigh', async (t) => {
    const queue = new FairQueue<{ brandId: string; bytes: number; since: number }>()
    const sizes = new Map([300, 5_000, 50_000, 260_000].map((bytes) => [`${bytes}`, bytes]))
    const got = new Map<string, number>()
    for (let round = 0; round < 200; round++) {
      for (const [brandId, bytes] of sizes)
        for (let n = 0; n < 600_000 / bytes; n++) queue.push({ brandId, bytes, since: round })
      for (const { brandId, bytes } of queue.take(2_000_000))
        got.set(brandId, (got.get(brandId) ?? 0) + bytes)
    }
    const most = Math.max(...got.values())
    t.equal(got.size, 4)
    for (const [brandId, bytes] of got) t.ok(most - bytes <= 400_000, `${brandId}: ${bytes} of ${most}`)
  })
  t.test('a batch takes turns between brands, by bytes', async (t) => {
    const queue = new FairQueue<{ brandId: string; bytes: number; since: number }>()
    for (let n = 0; n < 3_000; n++) queue.push({ brandId: 'loud', bytes: 10_000, since: n })
    queue.push({ brandId: 'small', bytes: 500, since: 3_000 })
    queue.push({ brandId: 'large', bytes: 300_000, since: 3_001 })
    const first = queue.take(1_000_000)
    t.ok(first.some(({ brandId }) => brandId === 'small'))
    t.ok(first.reduce((sum, { bytes }) => sum + bytes, 0) <= 1_000_000)
    const second = queue.take(1_000_000)
    t.ok([...first, ...second].some(({ brandId }) => brandId === 'large'))
    let last = -1
    for (let taken = [...first, ...second]; taken.length; taken = queue.take(1_000_000)) {
      for (const { since } of taken.filter(({ brandId }) => brandId === 'loud')) t.equal(since, ++last)
    }
    t.match([queue.size, last], [0, 2_999])
  })
})

t.test('an event loop that does not keep up', async (t) => {
  /** Requests of each brand that are taken of those offered between two looks. */
  const between = (shedder: Shedder, offered: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(offered).map(([brand, count]) => [
        brand,
        Array.from({ length: count }).filter(() => shedder.takes(brand)).length,
      ]),
    )
  /** What is taken at each look of a process that can do so much in the 100 ms between two, and is late by the rest. */
  const looks = (capacity: number, offered: Record<string, number>) => {
    const shedder = new Shedder()
    let rest = 0
    return Array.from({ length: 300 }, () => {
      const taken = between(shedder, offered)
      const work = Object.values(taken).reduce((sum, count) => sum + count, 0)
      rest = Math.max(0, rest + work - capacity)
      shedder.look((rest / capacity) * 100)
      return taken
    })
  }

  t.test('takes about what it can do of three times as much', async (t) => {
    const settled = looks(1_000, { one: 3_000 }).slice(-100)
    const mean = settled.reduce((sum, { one = 0 }) => sum + one, 0) / settled.length
    t.ok(mean > 950 && mean < 1_010, `${mean} of 1,000`)
  })
  t.test('cuts the brand that sends most, not the others', async (t) => {
    for (const taken of looks(1_000, { loud: 2_850, small: 75, other: 75 }).slice(-100))
      t.match(taken, { small: 75, other: 75 })
  })
  t.test('takes all again once it keeps up, and after a single long turn', async (t) => {
    const shedder = new Shedder()
    for (const late of [500, 500]) {
      between(shedder, { one: 1_000 })
      shedder.look(late)
    }
    t.equal(between(shedder, { one: 1_000 }).one, 700)
    for (let look = 0; look < 20; look++) {
      shedder.look(0)
      between(shedder, { one: 1_000 })
    }
    t.equal(between(shedder, { one: 1_000 }).one, 1_000)
    shedder.look(500)
    t.equal(between(shedder, { one: 1_000 }).one, 1_000)
  })
  t.test('is noticed', async (t) => {
    const shedder = new Shedder()
    const lateTurn = async (ms: number) => {
      for (const began = performance.now(); performance.now() - began < ms; ) shedder.takes('one')
      await pause(1)
    }
    const stop = watchLoop(shedder)
    t.teardown(stop)
    const refuses = () => {
      for (let request = 0; request < 1e7; request++) if (!shedder.takes('one')) return true
      return false
    }
    // A look between two of them, where this process had to wait, is in time: then they are begun anew.
    let refused = false
    for (let times = 0; times < 10 && !refused; times++) {
      // Later each time: one that catches up is cut no further.
      for (const ms of [350, 450, 550]) await lateTurn(ms)
      refused = refuses()
    }
    t.ok(refused)
  })
})

t.test('when Postgres fails', async (t) => {
  t.test('a server that asks for less than a commit on disk does not get it', async (t) => {
    const { server, db } = await ownCluster(t)
    const admin = postgres(server.adminUrl, { max: 1 })
    await admin`alter system set synchronous_commit = off`
    await admin`select pg_reload_conf()`
    await eventually(async () => (await admin`show synchronous_commit`)[0]?.synchronous_commit === 'off')
    await admin.end()
    t.same(await db.sql`show synchronous_commit`, [{ synchronous_commit: 'on' }])
  })
  t.test('fsync off is refused at the start', async (t) => {
    const { server, db } = await ownCluster(t)
    const admin = postgres(server.adminUrl, { max: 1 })
    await admin`alter system set fsync = off`
    await admin`select pg_reload_conf()`
    await admin.end()
    for (let off = false; !off; ) off = (await db.sql<{ fsync: string }[]>`show fsync`)[0]?.fsync === 'off'
    await t.rejects(openBatcher(db), /fsync off/)
  })

  t.test('a commit whose reply is lost is acknowledged once and stored once', async (t) => {
    const { postgres: db, url } = await database(t)
    const brand = await makeBrand({ postgres: db })
    const between = await proxy(t, url)
    const through = openPostgres(between.url)
    t.teardown(() => through.close())
    const ingest = await ingestOf(t, through)
    for (let n = 0; n < 5; n++) {
      const cut = between.cutAt('INSERT 0 1')
      const accepted = ingest.accept(bodyOf({ ...event, eventId: `cut-${n}` }), brand.id)
      await cut
      t.match(await accepted, { accepted: 1 })
    }
    t.same(
      await storedIds(db),
      [0, 1, 2, 3, 4].map((n) => `cut-${n}`),
    )
  })

  t.test('silence after a batch was sent is answered as unknown, by the deadline', async (t) => {
    const { postgres: db, url } = await database(t)
    const between = await proxy(t, url)
    const through = openPostgres(between.url)
    const ingest = await ingestOf(t, through, { answerMs: 2_500 })
    const { send, brand } = await host(t, db, { ingest })
    t.match(await send(bodyOf(event)), { status: 200 })
    between.silent = true
    const answer = await send(bodyOf(event))
    t.equal(answer.status, 503)
    t.same(Object.keys(answer.body), ['message'])
    t.equal(answer.headers.get('x-request-id'), null)
    between.silent = false
    t.match(await ingest.accept(bodyOf(event), brand.id), { accepted: 1 })
    await through.close()
  })

  t.test('a batch that waits for a lock is given up as not stored, by the deadline', async (t) => {
    const { db, brand } = await ownCluster(t)
    const ingest = await ingestOf(t, db, { answerMs: 2_500 })
    await ingest.accept(bodyOf({ ...event, eventId: 'before' }), brand.id)
    await db.sql.begin(async (tx) => {
      await tx`lock table event_log in access exclusive mode`
      t.ok(isUnavailable(await failureOf(ingest.accept(bodyOf({ ...event, eventId: 'during' }), brand.id))))
    })
    await ingest.accept(bodyOf({ ...event, eventId: 'after' }), brand.id)
    t.same(await storedIds(db), ['before', 'after'])
  })

  t.test('a batch that waits while its day gets a partition of its own is stored there', async (t) => {
    const { db, brand } = await ownCluster(t)
    const ingest = await ingestOf(t, db)
    await db.sql`call event_log_drop_before((now() at time zone 'UTC')::date + 2)`
    await ingest.accept(bodyOf({ ...event, eventId: 'before' }), brand.id)
    const during = await db.sql.begin(async (tx) => {
      await tx`call event_log_days((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 1)`
      const accepted = ingest.accept(bodyOf({ ...event, eventId: 'during' }), brand.id)
      await eventually(async () => (await db.sql`select from pg_locks where not granted`).count > 0)
      return { accepted }
    })
    t.match(await during.accepted, { accepted: 1 })
    t.same(await storedIds(db), ['before', 'during'])
  })

  t.test('a brand whose oldest request waits for more than a second gets 503 at once', async (t) => {
    const { db, brand } = await ownCluster(t)
    const ingest = await ingestOf(t, db, { connections: 1 })
    /** Without a wait for anything. */
    const isRefused = async () => {
      const outcome = failureOf(ingest.accept(bodyOf(event), brand.id))
      return isUnavailable(await Promise.race([outcome, pause(0)]))
    }
    await db.sql.begin(async (tx) => {
      await tx`lock table event_log in access exclusive mode`
      const began = performance.now()
      t.notOk(await isRefused(), 'under way')
      await eventually(async () => (await db.sql`select from pg_locks where not granted`).count > 0)
      t.notOk(await isRefused(), 'waiting')
      // Those that are not refused wait, too: of them one is the oldest when those before it were given up.
      await eventually(isRefused)
      t.ok(performance.now() - began > 1_000)
    })
  })

  t.test('while it is away events get 503, and it heals by itself when Postgres is back', async (t) => {
    const { server, db } = await ownCluster(t)
    const { send } = await host(t, db, { ingest: await ingestOf(t, db, { answerMs: 2_500 }) })
    t.match(await send(bodyOf(event)), { status: 200 })
    await server.stop('immediate')
    // On a connection whose end is not noticed yet the outcome is unknown; after that it is known.
    t.match(await send(bodyOf(event)), { status: 503 })
    t.match(await send(bodyOf(event)), { status: 503, body: { error: { code: 'unavailable' } } })
    await server.start()
    const back = performance.now()
    await eventually(async () => (await send(bodyOf(event))).status === 200)
    t.comment(`200 again ${Math.round(performance.now() - back)} ms after the start`)
  })

  t.test('a fast stop under load loses no acknowledged event and doubles none', async (t) => {
    const { server, db, brand } = await ownCluster(t)
    const ingest = await ingestOf(t, db)
    const acknowledged = new Set<string>()
    const refused = new Set<string>()
    let running = true
    const clients = Array.from({ length: 8 }, async () => {
      while (running) {
        const eventId = randomUUID()
        const outcome = await failureOf(ingest.accept(bodyOf({ ...event, eventId }), brand.id))
        if (outcome === 'no failure') acknowledged.add(eventId)
        else if (isUnavailable(outcome)) refused.add(eventId)
        else if (!(outcome instanceof Unsettled)) throw outcome
        if (outcome !== 'no failure') await pause(20)
      }
    })
    await eventually(async () => acknowledged.size > 50)
    await server.stop('fast')
    await server.start()
    const before = acknowledged.size
    await eventually(async () => acknowledged.size > before)
    running = false
    await Promise.all(clients)
    const stored = await storedIds(db)
    t.equal(new Set(stored).size, stored.length, 'no event is stored twice')
    t.same(
      [...acknowledged].filter((id) => !stored.includes(id)),
      [],
    )
    t.same(
      [...refused].filter((id) => stored.includes(id)),
      [],
    )
  })
})

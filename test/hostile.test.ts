import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { createKey } from '../src/access/key.ts'
import { CHECKOUT } from '../src/config.ts'
import type { Brand } from '../src/op.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { HOSTILE } from './fixtures/hostile.ts'
import { lake, sourceRows, tick } from './fixtures/lake.ts'
import { startRecoup } from './fixtures/recoup.ts'

const made = await database(t)
const { postgres: db } = made
const BRANDS = 40
const brands: { brand: Brand; key: string }[] = []
for (let n = 0; n < BRANDS; n++) {
  const brand = await makeBrand(made, { features: ['cdp'] })
  const { plaintext: key } = await createKey(db.forBrand(brand.id), { scopes: ['segments:read'] })
  brands.push({ brand, key })
}
const env = { DATABASE_URL: made.url, DATA_DIR: await emptyFolder(t), PORT: '0', RATE_LIMITS: 'off' }
const serve = startRecoup(['serve'], { env })
t.teardown(() => serve.child.kill('SIGKILL'))
const port = await eventually(async () => /"event":"listening".*?"port":(\d+)/.exec(serve.output.stderr)?.[1])
const agent = new Agent({ keepAlive: true, maxSockets: BRANDS })
t.teardown(() => agent.destroy())

const ROUTES = {
  '/cdp/events': {
    headers: ({ key }: (typeof brands)[number]) => ({ authorization: `Bearer ${key}` }),
    /** The body of one event from its other fields. */
    body: (_: Brand, id: string, fields: string) =>
      `{"events":[{"eventId":"${id}","anonymousId":"v",${fields}}]}`,
    ok: 200,
  },
  '/cdp/ingest': {
    headers: ({ brand }: (typeof brands)[number]) => ({ origin: `https://${brand.shop_domain}` }),
    body: ({ shop_domain }: Brand, id: string, fields: string) =>
      `{"source":{"scope":"${shop_domain}"},"events":[{"scope":"${shop_domain}","eventId":"${id}",${fields}}]}`,
    ok: 202,
  },
}
type Path = keyof typeof ROUTES

function post(path: Path, sender: (typeof brands)[number], body: string | Buffer): Promise<number> {
  const headers = { ...ROUTES[path].headers(sender), 'content-length': Buffer.byteLength(body) }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
    response
      .on('error', reject)
      .on('end', () => resolve(response.statusCode ?? 0))
      .resume()
  })
    .on('error', reject)
    .end(body)
  return promise
}

/** Ids of the events that were acknowledged, by brand. */
const acknowledged = new Map(brands.map(({ brand }) => [brand.id, [] as string[]]))
const HARMLESS = '"eventType":"page_viewed","properties":{"path":"/"}'
let rounds = 0

/** All brands at once send an event each, one of them a body that is given; its status. */
async function round(path: Path, hostile: (brand: Brand, id: string) => string | Buffer): Promise<number> {
  const victim = rounds++ % BRANDS
  const { body, ok } = ROUTES[path]
  const statuses = await Promise.all(
    brands.map(async (sender, n) => {
      const id = randomUUID()
      const sent = n === victim ? hostile(sender.brand, id) : body(sender.brand, id, HARMLESS)
      const status = await post(path, sender, sent)
      if (status === ok) acknowledged.get(sender.brand.id)?.push(id)
      return status
    }),
  )
  const others = statuses.filter((status, n) => n !== victim && status === ok).length
  if (others !== BRANDS - 1) t.equal(others, BRANDS - 1, `${path}: ${statuses}`)
  return statuses[victim] ?? 0
}

const documents = join(CHECKOUT, '../shared/data/json/test_parsing')
const skip = !existsSync(documents) && '../shared/data/json is not here'

for (const path of Object.keys(ROUTES) as Path[]) {
  t.test(`one hostile event among 40 brands at ${path}`, async (t) => {
    const { body, ok } = ROUTES[path]
    t.test('is refused or taken for what it is, and the 39 others are accepted', async (t) => {
      for (const { what, fields, taken } of HOSTILE)
        t.equal(await round(path, (brand, id) => body(brand, id, fields)), taken ? ok : 400, what)
    })
    t.test('with a time that no calendar has is no harm either', async (t) => {
      for (const time of [
        '0000-01-01T00:00:00Z',
        '300000-01-01T00:00:00Z',
        '-271821-04-20',
        '1e999',
        '\\u0000',
      ]) {
        const fields = `"timeStamp":"${time}",${HARMLESS}`
        t.equal(
          await round(path, (brand, id) => body(brand, id, fields)),
          path === '/cdp/events' ? 400 : ok,
          time,
        )
      }
    })
    t.test('as any document that a parser may get wrong', { skip }, async (t) => {
      for (const name of readdirSync(documents).filter((file) => /^[ni]_/.test(file))) {
        const document = readFileSync(join(documents, name))
        const status = await round(path, () => document)
        const isLong = path === '/cdp/ingest' && document.length > 65_536
        t.equal(status, isLong ? 413 : 400, name)
      }
    })
    t.test('with a value that parsers do not agree on', { skip }, async (t) => {
      for (const name of readdirSync(documents).filter((file) => file.startsWith('i_'))) {
        const document = readFileSync(join(documents, name))
        const status = await round(path, (brand, id) => {
          const [before = '', after = ''] = body(brand, id, '"eventType":"view","properties":{"v":?}').split(
            '?',
          )
          return Buffer.concat([Buffer.from(before), document, Buffer.from(after)])
        })
        t.ok(status === ok || status === 400, `${name}: ${status}`)
      }
    })
  })
}

t.test('many shared a batch with it', async (t) => {
  const [log] = await db.sql<{ batches: number; events: number }[]>`
    select count(*)::int as batches, sum(event_count)::int as events from event_log`
  const { batches = 0, events = 0 } = log ?? {}
  t.ok(batches < events / 4, `${events} events in ${batches} batches`)
})

t.test('the process is the one that was started, and logged no error', async (t) => {
  t.equal(serve.child.exitCode, null)
  t.notMatch(serve.output.stderr, /"level":"error"/)
})

t.test('the snapshot goes on: every acknowledged event is in the lake once, and nothing else', async (t) => {
  const pipeline = await lake(t, made)
  t.match(await tick(pipeline), { published: true })
  t.match(await db.sql`select count(*)::int as n from dead_event`, [{ n: 0 }])
  for (const { brand } of brands) {
    const rows = await sourceRows<{ event_id: string }>(pipeline, brand, 'select event_id from events')
    const expected = acknowledged.get(brand.id) ?? []
    const ids = rows.map(({ event_id }) => event_id.replace('browser:', ''))
    t.same(ids.sort(), expected.sort(), brand.shop_domain)
  }
})

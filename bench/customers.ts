import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { createKey } from '../src/access/key.ts'
import { CHECKOUT } from '../src/config.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openServed } from '../src/lake/served.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { chunksOf } from '../src/store/hash.ts'
import { brandFolder } from '../src/store/lake.ts'
import { type Host, startHost } from './collect-host.ts'
import { openLoad } from './loads.ts'
import { options } from './options.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { progress, RESULTS, report, rounded } from './report.ts'
import { segmentLake, storeIds } from './segment-lake.ts'
import { fillLog } from './stage.ts'

// Reads of customers over HTTP, from what a full refresh and one after 50,000 events published: point reads on a fixed
// schedule, whatever the answers do; lists and searches one after the other.
const { values } = options({
  options: {
    customers: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20' },
    days: { type: 'string', default: '1095' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '500' },
    only: { type: 'string', default: 'points,lists,search,others' },
    as: { type: 'string', default: 'published' },
    lake: { type: 'string', default: join(CHECKOUT, '.bench', 'segments') },
    results: { type: 'string', default: RESULTS },
  },
})
const [customers, seconds, rate] = [Number(values.customers), Number(values.seconds), Number(values.rate)]
/** Different customers that are asked for. */
const SAMPLE = 5_000
/** Of each sort, in both directions. */
const PAGES = 30
const MEMORY_MB = 2_400

const enc = encodeURIComponent

interface Person {
  id: string
  email: string | null
  phone: string | null
  store_id: string | null
  first_name: string | null
  last_name: string | null
}

interface Answer {
  ms: number
  body: { data?: unknown[]; next_cursor?: string | null }
}

const size = { customers, eventsPerCustomer: Number(values.events), days: Number(values.days) }
const { app, brand, end } = await segmentLake(values.lake, size, MEMORY_MB)
const rows: object[] = []
try {
  await publish()
  await warm()
  const people = await sample()
  const { plaintext } = await createKey(app.postgres.forBrand(brand.id), {
    scopes: ['customers:read', 'commerce:read'],
  })
  const headers = { authorization: `Bearer ${plaintext}` }
  const host = await startHost('read-server.ts', [app.config.dataDir])
  try {
    if (wanted('points')) await points(host, headers, people)
    if (wanted('lists')) await lists(host, headers)
    if (wanted('search')) await searches(host, headers, people)
    if (wanted('others')) await others(host, headers, people)
  } finally {
    await host.stop()
  }
  const command = `node bench/customers.ts --customers ${customers} --events ${values.events}`
  const says = `${rate} requests/s for point reads, by the open-loop generator; the server and the generator on the same cores, files in memory`
  report({ command, says, json: join(values.results, 'customers.json') }, rows)
} finally {
  await end()
}

function wanted(part: string): boolean {
  return values.only.split(',').includes(part)
}

/** The state that reads have on most of the day: a base, and what changed since. */
async function publish(): Promise<void> {
  if (values.as === 'published') return
  if (values.as === 'full')
    await app.postgres.sql`update lake_brand set results = results - 'recipe' where brand_id = ${brand.id}`
  else {
    const known = await storeIds(app, brand)
    await fillLog(app, brand, { events: 50_000, customers: known, days: 1 / 96, ids: uuidv7() })
    await snapshotAll(app.pipeline)
  }
  const { full, steps } = await refreshBrand(app.pipeline, brand.id)
  progress(`${full ? 'full' : 'step'}: ${steps.map(({ step, ms }) => `${step} ${ms} ms`).join(', ')}`)
}

/** Has the machine hold in memory what it reads, as after hours of use: a random page from a disk takes milliseconds. */
async function warm(): Promise<void> {
  const folders = [
    join(app.config.dataDir, 'postgres', 'base'),
    join(app.pipeline.lakeDir, brandFolder(brand.id)),
  ]
  // Postgres makes its own cache of the catalog anew now and then.
  for (const folder of folders)
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && !/\.parquet$|^pg_internal\.init/.test(entry.name))
        for await (const _ of chunksOf(join(entry.parentPath, entry.name)));
}

async function sample(): Promise<Person[]> {
  const served = openServed(app.pipeline)
  try {
    const reader = await served.reader(brand.id)
    if (!reader) throw new Error('nothing is published: --as full publishes')
    return await reader.rows<Person>(
      `select customer_id as id, email, phone, store_customer_id as store_id, first_name, last_name
       from customers where provenance <> 'pixel' order by hash(customer) limit ${SAMPLE}`,
    )
  } finally {
    await served.close()
  }
}

/** The memory of the server, and the milliseconds of CPU that it and Postgres took for so many requests. */
async function meter(host: Host) {
  const before = await host.usage()
  const postgresBefore = await postgresCpu(app.postgres.sql)
  return async (requests: number) => {
    const { cpuMs, maxRss } = await host.usage()
    const postgresMs = ((await postgresCpu(app.postgres.sql)) - postgresBefore) * 1_000
    return {
      cpu_ms_a_request: rounded((cpuMs - before.cpuMs) / requests, 2),
      postgres_ms_a_request: rounded(postgresMs / requests, 2),
      max_rss_mb: rounded(maxRss / 1e6),
    }
  }
}

async function points({ port, ...host }: Host, headers: Record<string, string>, people: readonly Person[]) {
  const by = (n: number, { id, email, phone, store_id }: Person) => [id, email, phone, store_id][n % 4] ?? id
  const reads = {
    'GET /v1/customers/{id}': people.map(({ id }) => `/v1/customers/${enc(id)}`),
    'GET /cdp/profiles/{id}': people.map(({ id }) => `/cdp/profiles/${enc(id)}`),
    'GET /cdp/customers/{identifier}/insights': people.map(
      (one, n) => `/cdp/customers/${enc(by(n, one))}/insights`,
    ),
  }
  const all = people.flatMap((_, n) => Object.values(reads).map((paths) => paths[n] as string))
  const offer = async (paths: readonly string[], perSecond: number, duration: number) =>
    (
      await openLoad({
        host: '127.0.0.1',
        port,
        seconds: duration,
        senders: [{ name: 'reads', headers, rate: perSecond, paths }],
      })
    )[0]
  // What a server that has just started still compiles is no part of them.
  await offer(all, rate, 5)
  for (const [read, paths] of [...Object.entries(reads), ['all three in turn', all] as const]) {
    const metered = await meter({ port, ...host })
    const result = await offer(paths, rate, seconds)
    if (!result) throw new Error('no result')
    note(read, result.offered, {
      ...{ p50: result.p50, p95: result.p95, p99: result.p99 },
      failed: result.offered - result.ok,
      ...(await metered(result.offered)),
    })
  }
}

function note(what: string, requests: number, figures: object): void {
  rows.push({ what, requests, ...figures })
  progress(JSON.stringify(rows.at(-1)))
}

/** One request after the other. */
async function each(host: Host, what: string, asked: AsyncIterable<Answer> | Iterable<Promise<Answer>>) {
  const metered = await meter(host)
  const times: number[] = []
  for await (const { ms } of asked) times.push(ms)
  times.sort((a, b) => a - b)
  const at = (share: number) => rounded(times[Math.floor(times.length * share)] ?? 0, 2)
  note(what, times.length, {
    ...{ p50: at(0.5), p95: at(0.95), p99: at(0.99) },
    failed: 0,
    ...(await metered(times.length)),
  })
}

async function get({ port }: Host, headers: Record<string, string>, path: string): Promise<Answer> {
  const started = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  const body = (await response.json()) as Answer['body']
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${JSON.stringify(body)}`)
  return { ms: performance.now() - started, body }
}

async function lists(host: Host, headers: Record<string, string>): Promise<void> {
  // Who comes on the first pages is looked up for the first time by the service; the pages after them count.
  const walk = async function* (sort: string) {
    let cursor = ''
    for (let page = 0; page < 2 * PAGES; page++) {
      const answer = await get(host, headers, `/v1/customers?sort=${sort}${cursor && `&cursor=${cursor}`}`)
      if (page >= PAGES) yield answer
      cursor = answer.body.next_cursor ?? ''
    }
  }
  for (const field of ['total_spend', 'orders_count', 'created_at', 'last_order_at', 'last_event_at'])
    for (const sort of [`-${field}`, field]) await each(host, `GET /v1/customers?sort=${sort}`, walk(sort))
}

async function searches(host: Host, headers: Record<string, string>, people: readonly Person[]) {
  const parts: Record<string, (one: Person) => string | null | undefined> = {
    'an email': ({ email }) => email,
    'a last name': ({ last_name }) => last_name,
    'a first and last name': ({ first_name, last_name }) =>
      first_name && last_name && `${first_name} ${last_name}`,
    'the end of a phone number': ({ phone }) => phone?.slice(-6),
    'what nobody has': ({ id }) => `nobody ${id.slice(-5)}`,
  }
  for (const [what, part] of Object.entries(parts)) {
    const queries = people.flatMap((one) => part(one) || []).slice(0, 2 * PAGES)
    const asked = async function* () {
      for (const query of queries) yield await get(host, headers, `/v1/customers/search?query=${enc(query)}`)
    }
    await each(host, `GET /v1/customers/search, ${what}`, asked())
  }
}

/** What else is read of one customer, and lists of the brand. */
async function others(host: Host, headers: Record<string, string>, people: readonly Person[]) {
  const paths: Record<string, (one: Person) => string> = {
    'GET /cdp/profiles/{id}/sessions': ({ id }) => `/cdp/profiles/${enc(id)}/sessions`,
    'GET /v1/customers/{id}/activity': ({ id }) => `/v1/customers/${enc(id)}/activity`,
    'GET /v1/customers/{id}/orders': ({ id }) => `/v1/customers/${enc(id)}/orders`,
    'GET /v1/customers/{id}/subscriptions': ({ id }) => `/v1/customers/${enc(id)}/subscriptions`,
    'GET /cdp/customers/{identifier}/orders': ({ id }) => `/cdp/customers/${enc(id)}/orders`,
    'GET /v1/commerce/orders': () => '/v1/commerce/orders',
    'GET /v1/commerce/orders?customer_id=': ({ id }) => `/v1/commerce/orders?customer_id=${enc(id)}`,
    'GET /v1/commerce/orders?state=refunded': () => '/v1/commerce/orders?state=refunded',
    'GET /v1/insights/at-risk': () => '/v1/insights/at-risk',
    'GET /cdp/profiles': () => '/cdp/profiles',
    'GET /cdp/profiles?sort=properties.lastVisit:desc': () => '/cdp/profiles?sort=properties.lastVisit:desc',
  }
  for (const [what, path] of Object.entries(paths)) {
    const asked = async function* () {
      for (const one of people.slice(0, PAGES)) yield await get(host, headers, path(one))
    }
    await each(host, what, asked())
  }
}

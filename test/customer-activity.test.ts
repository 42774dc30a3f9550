import { randomUUID } from 'node:crypto'
import t from 'tap'
import { compactBrand } from '../src/lake/compact.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { customerActivityOps } from '../src/ops/customer-activity.ts'
import { customerOrderOps } from '../src/ops/customer-orders.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { api } from './fixtures/api.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, lakeOf, logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { addOrders, type MadeCustomer, randomCustomers } from './fixtures/random-customers.ts'

setLogLevel('error')

const HOUR = 3_600_000
const EVERYONE = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 0 } }

const pipeline = await lake(t)
const { sql } = pipeline.postgres
let lakeOfBrand = lakeOf(t, pipeline)
const { call, key } = await api(t, pipeline, [...customerActivityOps, ...customerOrderOps], {
  lake: (brand) => lakeOfBrand(brand),
})

interface Entry {
  id: string
  kind: string
  type: string
  occurred_at: string
  data: Record<string, unknown>
}

/** A brand of random customers, of whom one did a lot, before its first refresh. */
async function store() {
  const random = randomSource(t)
  const brand = await newBrand(pipeline, { features: ['cdp'] })
  const as = await key(brand, ['customers:read'])
  const made = await randomCustomers(sql, brand, random, 40)
  const [one, merged] = made.filter(({ store_customer_id }) => store_customer_id) as [
    MadeCustomer,
    MadeCustomer,
  ]
  await addOrders(sql, brand, random, [one, merged], 30)
  await sql`insert into subscription ${sql(
    Array.from({ length: 9 }, (_, n) => ({
      ...{
        brand_id: brand.id,
        external_id: `s${n}`,
        id: randomUUID(),
        subject: n % 2 ? one.subject : merged.subject,
      },
      ...{ status: 'active', started_at: n < 3 ? null : new Date(Date.now() - (n % 3) * HOUR) },
    })),
  )}`
  await sql`insert into subject_redirect ${sql({ brand_id: brand.id, subject: merged.subject, customer: one.subject })}`
  return {
    brand,
    one,
    merged,
    /** All rows of one of the customer's lists. */
    async walk<Row>(path: string, limit: number, between = async () => {}): Promise<Row[]> {
      const rows: Row[] = []
      for (let cursor = ''; ; await between()) {
        const { status, body } = await call(`GET /v1/customers/${path}?limit=${limit}${cursor}`, { as })
        if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
        rows.push(...body.data)
        if (body.next_cursor === null) return rows
        cursor = `&cursor=${body.next_cursor}`
      }
    },
    read: (path: string) => call(`GET /v1/customers/${path}`, { as }),
  }
}

t.test('a timeline has events, orders, messages and segments in one order, each once', async (t) => {
  const { brand, one, merged, walk, read } = await store()
  const db = pipeline.postgres.forBrand(brand.id)
  const segment = await createSegment(db, { name: 'Everyone', definition: EVERYONE, createdBy: 'test' })
  const at = Math.floor(Date.now() / HOUR) * HOUR - HOUR
  const sent = [one, merged].flatMap(({ store_customer_id }) =>
    Array.from({ length: 40 }, (_, n) => ({
      ...{
        brand_id: brand.id,
        store_customer_id: String(store_customer_id),
        event_id: `${store_customer_id}-é${n}`,
      },
      // Eight at each instant.
      ...{
        occurred_at: at - (n % 5) * HOUR,
        event_type: 'product_viewed',
        properties: { product_id: `p${n}` },
      },
    })),
  )
  await logBatch(sql, sent)
  const [conversation, contact] = [randomUUID(), randomUUID()]
  await sql`insert into contact ${sql({ brand_id: brand.id, id: contact, subject: one.subject, email: 'x@example.com' })}`
  await sql`insert into conversation ${sql({ brand_id: brand.id, id: conversation, contact_id: contact, channel: 'sms' })}`
  const message = {
    brand_id: brand.id,
    conversation_id: conversation,
    author: 'agent',
    channel: 'sms',
    body: 'secret',
  }
  await sql`insert into message ${sql(
    Array.from({ length: 12 }, (_, n) => ({
      ...{
        ...message,
        id: randomUUID(),
        idempotency_key: `m${n}`,
        direction: n % 2 ? 'inbound' : 'outbound',
      },
      ...{ created_at: new Date(at - (n % 4) * HOUR), status: 'sent' },
    })),
  )}`
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, brand.id)

  const all = await walk<Entry>(`${one.id}/activity`, 200)
  const kinds = Map.groupBy(all, ({ kind }) => kind)
  t.equal(all.length, new Set(all.map(({ kind, id }) => `${kind} ${id}`)).size)
  t.equal(kinds.get('event')?.filter(({ type }) => type === 'product_viewed').length, 80)
  t.equal(kinds.get('message')?.length, 12)
  t.notOk(JSON.stringify(all).includes('secret'), 'what messages say takes another scope')
  const orders = await sql`
    select id, refunded_total::text from store_order
    where brand_id = ${brand.id} and subject in (${one.subject}, ${merged.subject}) order by id`
  t.same(
    (kinds.get('order') ?? [])
      .map(({ id, data }) => ({ id, refunded_total: data.refunded_total }))
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
    [...orders],
  )
  t.match(kinds.get('segment'), [{ type: 'entered', data: { segment_id: segment.id, name: 'Everyone' } }])
  const lineOf = (id: string) => sent.findIndex(({ event_id }) => event_id === id)
  const places = all.map(({ occurred_at, kind, id }) => ({
    ...{ occurred_at, kind, id: Buffer.from(id), line: kind === 'event' ? lineOf(id) : 0 },
  }))
  t.same(
    places,
    [...places].sort(
      (a, b) =>
        b.occurred_at.localeCompare(a.occurred_at) ||
        a.kind.localeCompare(b.kind) ||
        b.line - a.line ||
        Buffer.compare(a.id, b.id),
    ),
  )

  t.same(await walk(`${merged.id}/activity`, 200), all, 'by the id of a profile that was merged')
  const slowly = await walk<Entry>(`${one.id}/activity`, 7, async () => {
    await sql`insert into message ${sql({
      ...{ ...message, id: randomUUID(), idempotency_key: randomUUID(), direction: 'inbound' },
      created_at: new Date(),
    })}`
  })
  t.same(slowly, all, 'in small pages, while more happens')
  const { body } = await read(`${one.id}/activity?limit=1`)
  t.match(await read(`${merged.id}/activity?cursor=${body.next_cursor}`), { status: 400 })
  t.match(await read(`${one.id}/orders?cursor=${body.next_cursor}`), { status: 400 })
})

t.test('a timeline is walked to its end while refreshes come, each entry once', async (t) => {
  const { brand, one, walk } = await store()
  const db = pipeline.postgres.forBrand(brand.id)
  const at = Date.now() - HOUR
  const views = (count: number, time: number, apart = 0) =>
    logBatch(
      sql,
      Array.from({ length: count }, (_, n) => ({
        ...{ brand_id: brand.id, store_customer_id: String(one.store_customer_id) },
        ...{ event_type: 'product_viewed', occurred_at: time - (n % 3) * apart },
      })),
    )
  let rounds = 0
  const refreshed = async () => {
    await createSegment(db, { name: `Everyone ${rounds++}`, definition: EVERYONE, createdBy: 'test' })
    await snapshotAll(pipeline)
    await refreshBrand(pipeline, brand.id)
  }
  await views(60, at, HOUR)
  await refreshed()
  const all = await walk<Entry>(`${one.id}/activity`, 200)
  t.ok(['event', 'order', 'segment'].every((kind) => all.some((entry) => entry.kind === kind)))

  const slowly = await walk<Entry>(`${one.id}/activity`, 20, async () => {
    if (rounds > 3) return
    await views(4, Date.now())
    await refreshed()
    await compactBrand(pipeline, brand.id, true)
    // Else the pages of some seconds read one session, which shows what there was when it was opened.
    lakeOfBrand = lakeOf(t, pipeline)
  })
  t.same(slowly, all)
  const later = await walk<Entry>(`${one.id}/activity`, 200)
  t.same([rounds, later.length], [4, all.length + 3 * (4 + 1)], 'three refreshes came, each with more')
})

t.test('a page of large events ends early, and the walk goes on behind it', async (t) => {
  const { brand, one, walk, read } = await store()
  const at = Math.floor(Date.now() / HOUR) * HOUR - HOUR
  const about = { brand_id: brand.id, store_customer_id: String(one.store_customer_id) }
  await logBatch(
    sql,
    Array.from({ length: 40 }, (_, n) => ({
      ...{ ...about, event_id: `large-${n}`, event_type: 'page_viewed', occurred_at: at - n * HOUR },
      properties: { text: 'x'.repeat(n === 20 ? 2_000_000 : 60_000) },
    })),
  )
  const [conversation, contact] = [randomUUID(), randomUUID()]
  await sql`insert into contact ${sql({ brand_id: brand.id, id: contact, subject: one.subject, email: 'y@example.com' })}`
  await sql`insert into conversation ${sql({ brand_id: brand.id, id: conversation, contact_id: contact, channel: 'sms' })}`
  const sent = {
    brand_id: brand.id,
    conversation_id: conversation,
    author: 'agent',
    channel: 'sms',
    body: 'x',
  }
  await sql`insert into message ${sql(
    Array.from({ length: 20 }, (_, n) => ({
      ...{ ...sent, id: randomUUID(), idempotency_key: randomUUID(), direction: 'outbound', status: 'sent' },
      created_at: new Date(at - 2 * n * HOUR),
    })),
  )}`
  await snapshotAll(pipeline)
  const sizes: number[] = []
  const rows: Entry[] = []
  for (let cursor = ''; ; ) {
    const { body } = await read(`${one.id}/activity?limit=200${cursor}`)
    const large = (body.data as Entry[]).filter(({ id }) => id.includes('large'))
    sizes.push(large.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0))
    rows.push(...body.data)
    if (body.next_cursor === null) break
    cursor = `&cursor=${body.next_cursor}`
  }
  t.ok(sizes.length > 3, `${sizes.length} pages`)
  t.equal(
    sizes.filter((size) => size > 1 << 20).length,
    1,
    'one is larger than 1 MB, that of an event which alone is',
  )
  t.equal(new Set(rows.map(({ kind, id }) => `${kind} ${id}`)).size, rows.length, 'each entry once')
  t.equal(rows.filter(({ id }) => id.includes('large')).length, 40)
  t.equal(rows.filter(({ kind }) => kind === 'message').length, 20)
  t.same(await walk(`${one.id}/activity`, 7), rows)
})

t.test('orders and subscriptions of a customer are walked newest first while refreshes come', async (t) => {
  const { brand, one, merged, walk, read } = await store()
  t.match((await read(`${one.id}/orders`)).body, { data: [], next_cursor: null }, 'before the first refresh')
  await snapshotAll(pipeline)
  await refreshBrand(pipeline, brand.id)
  for (const [list, time] of [
    ['orders', 'created_at'],
    ['subscriptions', 'started_at'],
  ] as const) {
    const all = await walk<Record<string, string | null>>(`${one.id}/${list}`, 200)
    const [{ n = 0 } = {}] = await sql`
      select count(*)::integer as n from ${sql(list === 'orders' ? 'store_order' : 'subscription')}
      where brand_id = ${brand.id} and subject in (${one.subject}, ${merged.subject})`
    t.equal(all.length, n)
    const key = (row: Record<string, string | null>) => row[time] ?? ''
    t.same(
      all.map(({ id }) => id),
      [...all]
        .sort((a, b) => key(b).localeCompare(key(a)) || (String(a.id) < String(b.id) ? -1 : 1))
        .map(({ id }) => id),
    )
    t.same(new Set(all.map(({ customer_id }) => customer_id)), new Set([one.id]))
    let rounds = 0
    const slowly = await walk(`${merged.id}/${list}`, list === 'orders' ? 9 : 4, async () => {
      if (rounds++ > 1) return
      await sql`delete from store_order where brand_id = ${brand.id} and ctid = (
        select ctid from store_order where brand_id = ${brand.id} and subject = ${one.subject} limit 1)`
      await addOrders(sql, brand, randomSource(t), [one], 3)
      await snapshotAll(pipeline)
      await refreshBrand(pipeline, brand.id)
    })
    t.same(slowly, all)
    for (const query of ['limit=201', 'limit=0', 'cursor=x', 'offset=1', 'sort=id'])
      t.match(await read(`${one.id}/${list}?${query}`), {
        status: 400,
        body: { error: { code: 'bad_request' } },
      })
    t.match(await read(`${randomUUID()}/${list}`), { status: 404, body: { error: { code: 'not_found' } } })
  }
})

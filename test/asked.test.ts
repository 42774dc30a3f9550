import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { at, store } from './fixtures/viewed-store.ts'

setLogLevel('error')

// Few rows: a second thread costs more than it gives.
const pipeline = { ...(await lake(t)), threads: 1 }
const { sql } = pipeline.postgres

/** A brand with a segment of each kind of condition, refreshed once; `asked` refreshes by what changed. */
async function shop() {
  const { brand, save, viewed, view, published } = await store(pipeline)
  const { id } = await viewed('viewers', 30)
  const counted = (kind: string) => ({
    source: 'product_events',
    rule: { op: 'count-over-window', where: [{ field: 'event_kind', op: '=', value: kind }] },
  })
  await save('carters', counted('product_added_to_cart'))
  await save('buyers', { source: 'commerce_orders', rule: { field: 'state', op: '=', value: 'complete' } })
  await save('spenders', { source: 'customer_profile', rule: { field: 'total_spend', op: '>', value: 5 } })
  await save('not viewers', {
    source: 'customer_profile',
    rule: { not: { op: 'member-of-segment', segmentId: id } },
  })
  await view(at('2026-05-01T00:00:00'), 'ann', 'bob', 'cleo')
  await refreshBrand(pipeline, brand.id, { asOf: at('2026-05-02T00:00:00') })
  return {
    brand,
    save,
    view,
    members: async () => {
      const { served, lake } = await published()
      t.same(served, lake)
      return Object.fromEntries(Object.entries(served).map(([name, who]) => [name, Object.keys(who).sort()]))
    },
    /** How many memberships were looked at. */
    asked: async (time: string) => {
      const options = { asOf: at(time), smallRows: 0, mostTouched: 9, parts: ['segments'] as const }
      const { full, steps } = await refreshBrand(pipeline, brand.id, options)
      t.notOk(full)
      return steps.find(({ step }) => step === 'asked')?.rows
    },
    /** Of bob, with no lines. */
    order: async (day: string) => {
      await sql`
        insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
        values (${brand.id}, '1', gen_random_uuid(), 2, 'complete', 'paid', 'USD', 10, ${day}, now())`
      await snapshotAll(pipeline)
    },
    event: async (time: string, event: object) => {
      const times = { occurred_at: at(time).getTime(), received_at: at(time).getTime() }
      await logBatch(sql, [{ brand_id: brand.id, store_customer_id: 'ann', ...times, ...event } as never])
      await snapshotAll(pipeline)
    },
  }
}

t.test('only segments whose rules are about a row that came are looked at, for its customer', async (t) => {
  const { view, event, order, asked, members } = await shop()
  const everyone = ['ann', 'bob', 'cleo']
  await view(at('2026-05-02T12:00:00'), 'ann')
  t.equal(await asked('2026-05-03T00:00:00'), 2, 'those of viewers, and what refers to them')
  await event('2026-05-03T12:00:00', { event_type: 'page_viewed', properties: { path: '/' } })
  t.equal(await asked('2026-05-04T00:00:00'), 0)
  await event('2026-05-04T12:00:00', { event_type: 'product_added_to_cart', properties: { product_id: 'p' } })
  t.equal(await asked('2026-05-05T00:00:00'), 1)
  t.match(await members(), { viewers: everyone, carters: ['ann'] })

  await order('2026-05-05')
  t.equal(await asked('2026-05-06T00:00:00'), 2, 'buyers, and spenders: what was spent is more')
  await view(at('2026-05-06T12:00:00'), 'dora')
  t.equal(await asked('2026-05-07T00:00:00'), 5, 'all of who was not there')
  t.match(await members(), {
    viewers: [...everyone, 'dora'],
    carters: ['ann'],
    buyers: ['bob'],
    spenders: ['bob'],
  })
})

t.test('whom time passes is looked at for the rules that look back so far', async (t) => {
  const { view, asked, members } = await shop()
  await view(at('2026-05-20T00:00:00'), 'ann')
  t.equal(await asked('2026-05-21T00:00:00'), 2)
  t.equal(await asked('2026-05-30T00:00:00'), 0)
  t.equal(await asked('2026-05-31T00:00:00.001'), 6, 'the first views are 30 days ago')
  t.match(await members(), { viewers: ['ann'], 'not viewers': ['bob', 'cleo'] })
})

t.test('whom time passes by an order without lines is looked at for what no line of it says', async (t) => {
  const { brand, save, order, asked, members } = await shop()
  const where = [{ field: 'product_id', op: '!=', value: 'p' }]
  const rule = { op: 'count-over-window', window: { days: 7 }, where }
  await save('of other products', { source: 'commerce_orders', rule })
  await refreshBrand(pipeline, brand.id, { asOf: at('2026-05-03T00:00:00') })
  await order('2026-05-05')
  t.equal(await asked('2026-05-06T00:00:00'), 3)
  t.match(await members(), { 'of other products': ['bob'] })
  t.equal(await asked('2026-05-12T00:00:00.001'), 1)
  t.match(await members(), { 'of other products': [] })
})

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

/** Two segments of 30 days; `refresh` goes on from copies of the rows that the first one published. */
async function shop() {
  const { brand, view, viewed, save, members } = await store(pipeline)
  await viewed('viewers', 30)
  await save('buyers', {
    source: 'commerce_orders',
    rule: {
      op: 'count-over-window',
      window: { days: 30 },
      where: [{ field: 'state', op: '=', value: 'complete' }],
    },
  })
  const subjectOf = (name: string) => sql`(
    select subject from identifier where brand_id = ${brand.id} and kind = 'store_customer_id' and value = ${name})`
  return {
    brand,
    view,
    subjectOf,
    order: (id: string, who: string, state: string) => sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, ${id}, gen_random_uuid(), ${subjectOf(who)}, ${state}, 'paid', 'USD', 10, '2026-05-01', now())`,
    refreshed: async (time: string, full = false) => {
      const options = { asOf: at(time), smallRows: 0, mostTouched: 9 }
      t.equal((await refreshBrand(pipeline, brand.id, options)).full, full)
      return { viewers: (await members('viewers')).sort(), buyers: (await members('buyers')).sort() }
    },
  }
}

t.test('time passes what came late, changed or was merged since it was copied', async (t) => {
  const { brand, view, order, subjectOf, refreshed } = await shop()
  await view(at('2026-03-01T00:00:00'), 'ed', 'dora')
  await view(at('2026-05-01T00:00:00'), 'ann', 'bob')
  await order('1', 'ann', 'complete')
  await order('2', 'bob', 'pending')
  await snapshotAll(pipeline)
  t.same(await refreshed('2026-05-02T00:00:00', true), { viewers: ['ann', 'bob'], buyers: ['ann'] })

  const late = {
    occurred_at: at('2026-05-01T06:00:00').getTime(),
    received_at: at('2026-05-03T00:00:00').getTime(),
  }
  const seen = { event_type: 'product_viewed', properties: { product_id: 'p' }, store_customer_id: 'dora' }
  await logBatch(sql, [{ brand_id: brand.id, ...late, ...seen }])
  await sql`update store_order set state = 'complete', updated_at = now() where brand_id = ${brand.id} and external_id = '2'`
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, ${subjectOf('ann')}, ${subjectOf('ed')})`
  await snapshotAll(pipeline)
  t.same(await refreshed('2026-05-04T00:00:00'), { viewers: ['bob', 'dora', 'ed'], buyers: ['bob', 'ed'] })

  t.same(await refreshed('2026-05-30T23:59:59.999'), {
    viewers: ['bob', 'dora', 'ed'],
    buyers: ['bob', 'ed'],
  })
  t.same(await refreshed('2026-05-31T00:00:00'), { viewers: ['dora'], buyers: [] })
  t.same(await refreshed('2026-05-31T06:00:00'), { viewers: [], buyers: [] })
})

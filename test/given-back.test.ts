import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { lake } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { at, store } from './fixtures/viewed-store.ts'

setLogLevel('error')

// Few rows: a second thread costs more than it gives.
const pipeline = { ...(await lake(t)), threads: 1 }
const { sql } = pipeline.postgres

t.test('whom the store gives back has the memberships that no evaluation has ended', async (t) => {
  const { brand, view, viewed, members } = await store(pipeline)
  await viewed('viewers', 30)
  const refreshed = async (time: string) => {
    await snapshotAll(pipeline)
    const options = { asOf: at(time), smallRows: 0, mostTouched: 9 }
    return [(await refreshBrand(pipeline, brand.id, options)).full, (await members('viewers')).sort()]
  }
  const remove = (removed: boolean) => sql`
    update customer set deleted = ${removed}
    where brand_id = ${brand.id} and store_customer_id = 'ann'`
  await view(at('2026-05-01T00:00:00'), 'ann', 'bob')
  t.same(await refreshed('2026-05-01T01:00:00'), [true, ['ann', 'bob']])
  await sql`update segment set every_minutes = 60 where brand_id = ${brand.id}`

  await remove(true)
  t.same(await refreshed('2026-05-01T01:15:00'), [false, ['bob']])
  await remove(false)
  t.same(await refreshed('2026-05-01T01:30:00'), [false, ['ann', 'bob']])
  await view(at('2026-05-01T01:45:00'), 'ann')
  t.same(await refreshed('2026-05-01T02:15:00'), [false, ['ann', 'bob']])
  const changes = await memberChanges(pipeline, brand.id)
  t.equal(changes.length, 2, 'nobody entered twice')
})

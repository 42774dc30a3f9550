import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Db } from '../src/op.ts'
import type { Part } from '../src/segment/part.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { updateSegment } from '../src/segment/saved.ts'
import { failingAt, killable } from './fixtures/killed.ts'
import { lake } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { at, logViews, store, viewedWithin } from './fixtures/viewed-store.ts'

setLogLevel('error')

const shared = await lake(t)
const { sql } = shared.postgres

/** All that a refresh may change in Postgres, leases left out. */
const stateOf = async ({ id }: Brand) => [
  ...(await sql`select to_jsonb(lake_brand) as row from lake_brand where brand_id = ${id}`),
  ...(await sql`select to_jsonb(segment) - 'evaluating_until' as row from segment where brand_id = ${id}`),
  ...(await sql`select to_jsonb(lake_file) as row from lake_file where brand_id = ${id} order by id`),
]

interface Options {
  smallRows: number
  mostTouched?: number
  parts?: Part[]
}

/** What a refresh computes: everyone, those whose answers can have changed, or the members of everyone over customers that are carried on. */
const WAYS: Record<string, Options> = {
  'a refresh': { smallRows: Number.MAX_SAFE_INTEGER },
  'an incremental refresh': { smallRows: 0, mostTouched: 9 },
  'a refresh after an edited rule': { smallRows: 0, mostTouched: 9, parts: ['segments'] },
  'a refresh of models, before that of segments': { smallRows: 0, mostTouched: 9, parts: ['models'] },
}

for (const [what, options] of Object.entries(WAYS)) {
  const isEdited = options.parts?.includes('segments')
  const evaluates = !options.parts || isEdited
  const incremental = options.smallRows === 0 && !isEdited
  const edit = async (db: Db, { id }: { id: string }) => {
    if (isEdited) await updateSegment(db, { id, definition: viewedWithin(3), createdBy: 'test' })
  }
  t.test(`${what} that fails at any statement changes nothing, and the next one completes`, async (t) => {
    const { brand, db, view, viewed, refresh, published } = await store(shared)
    const segment = await viewed('lately', 3)
    await view(at('2026-06-01T00:00:00'), 'ann', 'bob')
    await view(at('2026-06-03T00:00:00'), 'cleo')
    await refresh(at('2026-06-02T00:00:00'))
    await edit(db, segment)
    const before = await stateOf(brand)
    const asOf = at('2026-06-05T12:00:00')
    for (let statement = 1; ; statement++) {
      const failing = failingAt(shared, statement, { staysAway: true })
      const failure = await refreshBrand(failing, brand.id, { ...options, asOf }).then(
        ({ full }) => {
          t.equal(full, !incremental)
          return null
        },
        (error: Error) => error.message,
      )
      if (failure === null) {
        t.ok(statement > 9, `${statement - 1} statements: ${failing.ran.join(', ')}`)
        break
      }
      t.equal(failure, `no answer to ${failing.ran[statement - 1]}`)
      t.same(await stateOf(brand), before)
    }
    const { generation, served, lake } = await published()
    t.equal(generation, 2)
    const members = evaluates
      ? { cleo: '2026-06-05T12:00:00Z' }
      : { ann: '2026-06-02T00:00:00Z', bob: '2026-06-02T00:00:00Z' }
    t.same(served.lately, members)
    t.same(served, lake)
  })

  t.test(`${what} that is killed leaves one generation, and the next one completes`, async (t) => {
    const random = randomSource(t)
    const { brand, db, viewed, refresh, published, audience } = await store(shared)
    const refreshers = Array.from({ length: 5 }, () =>
      killable(t, 'refresh-killed.ts', shared, brand.id, JSON.stringify(options)),
    )
    const segment = await viewed('lately', 3)
    const names = Array.from({ length: 50 }, (_, index) => `c${index}`)
    for (let day = 1; day < 30; day += 4)
      await logViews(
        shared,
        brand,
        new Date(Date.UTC(2026, 6, day)),
        names.filter(() => random.chance(0.5)),
      )
    await snapshotAll(shared)
    await refresh(at('2026-07-01T01:00:00'))
    await edit(db, segment)
    const took = await timed(() =>
      refreshBrand(shared, brand.id, { ...options, asOf: at('2026-07-01T02:00:00') }),
    )
    for (const [round, killedAfter] of refreshers.entries()) {
      const asOf = new Date(Date.UTC(2026, 6, 5 + 4 * round, 1))
      await edit(db, segment)
      const before = await published()
      await killedAfter(random.below(1.5 * took), asOf.toISOString())
      const after = await published()
      t.same(after.served, after.lake, `one generation after kill ${round}`)
      if (after.generation === before.generation) t.same(after, before)

      await sql`update segment set evaluating_until = now() where id = ${segment.id} and evaluating_until is not null`
      t.match(await audience(segment.id), { evaluation_status: 'evaluated' }, 'no lease outlives its time')
      await edit(db, segment)
      const { full } = await refreshBrand(shared, brand.id, { ...options, asOf })
      t.equal(full, !incremental)
      const done = await published()
      t.equal(done.generation, after.generation + 1)
      t.same(done.served, done.lake)
      t.match(done.audience.lately, {
        members: Object.keys(done.served.lately ?? {}).length,
        generation: evaluates ? done.generation : after.audience.lately?.generation,
      })
    }
  })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return Math.round(performance.now() - started)
}

import t from 'tap'
import { openServed } from '../src/lake/served.ts'
import { setLogLevel } from '../src/log.ts'
import { refreshBrand, type Step } from '../src/segment/refresh.ts'
import { archiveSegment, updateSegment } from '../src/segment/saved.ts'
import { lake } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { at, store, viewedWithin } from './fixtures/viewed-store.ts'

setLogLevel('error')

/*
 * Of a large brand segments with another rule than before are evaluated of everyone by themselves, after the others, which
 * are looked at where something changed, as in every refresh.
 */

// Few rows: a second thread costs more than it gives.
const shared = { ...(await lake(t)), threads: 1 }
const { sql } = shared.postgres
const served = openServed(shared)
t.teardown(() => served.close())

const asLarge = { smallRows: 0, mostTouched: 9 }
const buyers = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } }

/** A brand with three segments of viewers, within 10, 20 and 30 days, that was refreshed once: ann viewed, bob earlier. */
async function shop() {
  const made = await store(shared)
  const { brand, db, viewed, view } = made
  const [ten, twenty, thirty] = [
    await viewed('ten', 10),
    await viewed('twenty', 20),
    await viewed('thirty', 30),
  ]
  await view(at('2026-05-01T00:00:00'), 'ann')
  await view(at('2026-04-15T00:00:00'), 'bob')
  await made.refresh(at('2026-05-02T00:00:00'))
  const refresh = async (time: string, more = {}) => {
    const steps: Step[] = []
    const onStep = (step: Step) => steps.push(step)
    const report = await refreshBrand(shared, brand.id, { asOf: at(time), ...asLarge, onStep, ...more })
    return { ...report, evaluated: steps.flatMap(({ step, rows }) => (step === 'segments' ? rows : [])) }
  }
  const edit = (id: string, definition: object) => updateSegment(db, { id, definition, createdBy: 'test' })
  const changes = async (ordinal: number) =>
    (await memberChanges(shared, brand.id)).flatMap(({ segment, tick, customer, action, reason }) =>
      segment === ordinal && tick > 1 ? [`${customer} ${action}: ${reason}`] : [],
    )
  const ordinalOf = async (id: string) =>
    Number((await sql`select ordinal from segment where id = ${id}`)[0]?.ordinal)
  return { ...made, ten, twenty, thirty, refresh, edit, changes, ordinalOf }
}

t.test('an edited rule is evaluated of everyone without the others', async (t) => {
  const { ten, refresh, edit, published } = await shop()
  await edit(ten.id, viewedWithin(25))
  t.same((await refresh('2026-05-02T00:15:00')).evaluated, [2, 1])
  const { served, lake } = await published()
  t.same(Object.keys(served.ten ?? {}), ['ann', 'bob'])
  t.same(served, lake)
})

t.test('so is a segment that was just made', async (t) => {
  const { viewed, refresh, members } = await shop()
  await viewed('made', 25)
  t.same((await refresh('2026-05-02T00:15:00')).evaluated, [3, 1])
  t.same(await members('made'), ['ann', 'bob'])
})

t.test('what changed before it is seen by the others once, with its reason', async (t) => {
  const { ten, twenty, view, refresh, edit, changes, ordinalOf, published } = await shop()
  await view(at('2026-05-02T00:05:00'), 'cleo')
  await edit(ten.id, viewedWithin(25))
  await refresh('2026-05-02T00:15:00')
  t.same(await changes(await ordinalOf(twenty.id)), ['3 entered: data_changed'])
  await refresh('2026-05-02T00:30:00')
  t.same(await changes(await ordinalOf(twenty.id)), ['3 entered: data_changed'])
  const { served, lake } = await published()
  t.same(served, lake)
})

t.test('time that passed until then is seen by the others', async (t) => {
  const { ten, twenty, refresh, edit, changes, ordinalOf } = await shop()
  await edit(ten.id, buyers)
  await refresh('2026-05-06T00:00:00')
  t.same(await changes(await ordinalOf(twenty.id)), ['2 exited: window_elapsed'])
})

t.test('whoever refers to an edited segment is evaluated with it', async (t) => {
  const { ten, save, refresh, edit, changes, ordinalOf, members } = await shop()
  const rule = { not: { op: 'member-of-segment', segmentId: ten.id } }
  const { id } = await save('not ten', { source: 'customer_profile', rule })
  await refresh('2026-05-02T00:00:00')
  t.same(await members('not ten'), ['bob'])
  await edit(ten.id, viewedWithin(25))
  t.same((await refresh('2026-05-02T00:15:00')).evaluated, [2, 2])
  t.same(await members('not ten'), [])
  t.match(await changes(await ordinalOf(id)), ['2 entered: segment_created', '2 exited: definition_changed'])
})

t.test('where most rules were edited all are evaluated together', async (t) => {
  const { ten, twenty, refresh, edit } = await shop()
  await edit(ten.id, viewedWithin(25))
  await edit(twenty.id, viewedWithin(26))
  t.same((await refresh('2026-05-02T00:15:00')).evaluated, [3])
})

t.test('of a small brand all are evaluated together', async (t) => {
  const { ten, refresh, edit } = await shop()
  await edit(ten.id, viewedWithin(25))
  t.same((await refresh('2026-05-02T00:15:00', { smallRows: 1_000_000 })).evaluated, [3])
})

t.test('a segment that fails is tried alone each time, and the others go on', async (t) => {
  const { ten, twenty, thirty, view, refresh, audience, members } = await shop()
  await sql`update segment_version set definition = '{"source":"moon","rule":{}}' where segment_id = ${ten.id}`
  const failed = [{ segment_id: ten.id, error: /moon/ }]
  t.match(await refresh('2026-05-02T00:15:00'), { failed, evaluated: [2] }, 'first all are evaluated')
  await view(at('2026-05-02T00:20:00'), 'cleo')
  t.match(await refresh('2026-05-02T00:30:00'), { failed, evaluated: [2, 0] })
  t.same(await members('twenty'), ['ann', 'bob', 'cleo'])
  t.same(await members('ten'), ['ann'])
  t.match(await audience(ten.id), { evaluation_status: 'failed', member_count: 1 })
  t.match(await audience(twenty.id), { evaluation_status: 'evaluated', member_count: 3 })

  await sql`update segment_version set definition = ${sql.json(viewedWithin(10))} where segment_id = ${ten.id}`
  t.match(await refresh('2026-05-02T00:45:00'), { failed: [], evaluated: [2, 1] })
  t.same(await members('ten'), ['ann', 'cleo'])
  t.match(await audience(thirty.id), { evaluation_status: 'evaluated', member_count: 3 })
})

t.test(
  'after a refresh that ended between the two the brand is due, and the next one evaluates it',
  async (t) => {
    const { brand, ten, view, refresh, edit, published } = await shop()
    await view(at('2026-05-02T00:05:00'), 'cleo')
    await edit(ten.id, viewedWithin(25))
    const ending = new AbortController()
    const onStep = ({ step }: Step) => {
      if (step === 'publish') ending.abort(new Error('ended'))
    }
    await t.rejects(refresh('2026-05-02T00:15:00', { onStep, signal: ending.signal }), { message: 'ended' })
    const between = (await published()).served
    t.same(
      [between.ten, between.twenty].map((each) => Object.keys(each ?? {})),
      [['ann'], ['ann', 'bob', 'cleo']],
    )
    const [row] = await sql`
    select coalesce(next_change_at, '-infinity') <= now() as is_due from lake_brand where brand_id = ${brand.id}`
    t.same(row, { is_due: true })

    t.same((await refresh('2026-05-02T00:30:00')).evaluated, [2, 1])
    const { served, lake } = await published()
    t.same(Object.keys(served.ten ?? {}), ['ann', 'bob', 'cleo'])
    t.same(served, lake)
  },
)

t.test('what comes between the two is seen by the others in the next refresh, once', async (t) => {
  const { brand, ten, twenty, view, refresh, edit, published, changes, ordinalOf } = await shop()
  await edit(ten.id, viewedWithin(25))
  const { pipeline } = shared.postgres
  let looked = 0
  const maybe: typeof pipeline.maybe = async (name, args) => {
    if (name === 'lake_brand_row' && ++looked === 2) {
      await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 2, 1)`
      await view(at('2026-05-02T00:05:00'), 'cleo')
    }
    return await pipeline.maybe(name, args)
  }
  const meanwhile = { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, maybe } } }
  await refreshBrand(meanwhile, brand.id, { asOf: at('2026-05-02T00:15:00'), ...asLarge })
  const membersOf = async (name: string) => Object.keys((await published()).lake[name] ?? {})
  t.same(await membersOf('ten'), ['ann', 'cleo'])
  t.same(await changes(await ordinalOf(twenty.id)), [])

  await refresh('2026-05-02T00:30:00')
  t.same(await changes(await ordinalOf(twenty.id)), ['2 exited: merged', '3 entered: data_changed'])
  await refresh('2026-05-02T00:45:00')
  t.same(await changes(await ordinalOf(twenty.id)), ['2 exited: merged', '3 entered: data_changed'])
  const { served, lake } = await published()
  t.same(served, lake)
})

t.test('a full refresh that finds an edit which none before it saw raises no alarm', async (t) => {
  const { brand, ten, edit, refresh } = await shop()
  await edit(ten.id, viewedWithin(25))
  await refresh('2026-05-02T00:15:00', { verify: true })
  const [row] = await sql`select difference from lake_brand where brand_id = ${brand.id}`
  t.same(row, { difference: null })
})

t.test('a segment that was archived meanwhile is none that the others wait for', async (t) => {
  const { db, ten, twenty, refresh, edit, members } = await shop()
  await edit(ten.id, viewedWithin(25))
  await archiveSegment(db, ten.id)
  await edit(twenty.id, buyers)
  t.same((await refresh('2026-05-02T00:15:00')).evaluated, [1, 1])
  t.same(await members('twenty'), [])
})

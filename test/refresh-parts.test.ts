import t from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { brandManifest } from '../src/lake/manifest.ts'
import { rowFilePath } from '../src/lake/row-file.ts'
import { openServed } from '../src/lake/served.ts'
import { setLogLevel } from '../src/log.ts'
import { loadModels } from '../src/model/graph.ts'
import type { Part } from '../src/segment/part.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import {
  archiveSegment,
  audienceOf,
  type SegmentWithDefinition,
  updateSegment,
} from '../src/segment/saved.ts'
import { lake } from './fixtures/lake.ts'
import { memberChanges } from './fixtures/published.ts'
import { at, store, viewedWithin } from './fixtures/viewed-store.ts'

setLogLevel('error')

// Few rows: a second thread costs more than it gives.
const shared = { ...(await lake(t)), threads: 1 }
const { sql } = shared.postgres
const served = openServed(shared)
t.teardown(() => served.close())

/** A brand with a viewer, a segment of buyers and one of viewers, and one order that counts. */
async function shop() {
  const made = await store(shared)
  const { brand, save, viewed, view } = made
  await viewed('viewers', 30)
  await save('buyers', { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } })
  const order = async (number: string) => {
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, ${number}, gen_random_uuid(), 1, 'complete', 'paid', 'USD', 10, '2026-05-01', now())`
    await snapshotAll(shared)
  }
  await view(at('2026-05-01T00:00:00'), 'ann')
  await order('1')
  const shown = async (generation?: number) => {
    const reader = await served.reader(brand.id, generation)
    const [row] = ((await reader?.rows(
      `select (select count(*) from orders) as orders, (select orders_count from customers where customer = 1) as counted,
         (select sum(order_count) from rfm_tiers) as scored, (select count(*) from members) as members`,
    )) ?? []) as [object]
    return { ...row, generation: reader?.generation }
  }
  const refresh = (time: string, parts?: readonly Part[], options = {}) =>
    refreshBrand(shared, brand.id, { asOf: at(time), ...options, ...(parts && { parts }) })
  return { ...made, order, shown, refresh }
}

for (const [how, options] of Object.entries({
  whole: { smallRows: Number.MAX_SAFE_INTEGER },
  'of what changed': { smallRows: 0, mostTouched: 9 },
})) {
  t.test(`segments alone carry on the models, models alone the segments, ${how}`, async (t) => {
    const { view, order, shown, refresh } = await shop()
    await refresh('2026-05-02T00:00:00')
    t.same(await shown(), { orders: 1, counted: 1, scored: 1, members: 2, generation: 1 })
    await order('2')
    await view(at('2026-05-02T12:00:00'), 'bob')

    const segments = await refresh('2026-05-03T00:00:00', ['segments'], options)
    t.match(segments, { generation: 2, full: how === 'whole' })
    t.same(await shown(), { orders: 1, counted: 2, scored: 1, members: 3, generation: 2 })

    await order('3')
    const models = await refresh('2026-05-03T00:00:00', ['models'], options)
    t.match(models, { generation: 3, full: how === 'whole', failed: [] })
    t.same(await shown(), { orders: 3, counted: 2, scored: 3, members: 3, generation: 3 })

    t.match(await refresh('2026-05-03T00:00:00', ['segments'], options), { generation: 4 })
    t.same(await shown(), { orders: 3, counted: 3, scored: 3, members: 3, generation: 4 })
    t.same(await shown(2), { orders: 1, counted: 2, scored: 1, members: 3, generation: 2 }, 'a walk stays')
    t.same(await shown(1), { orders: 1, counted: 1, scored: 1, members: 2, generation: 1 })
  })

  t.test(`a file is kept while any part of the newest generation is read from it, ${how}`, async (t) => {
    const { brand, db, view, viewed, refresh } = await shop()
    const { id } = await viewed('edited', 30)
    const live = async () =>
      (
        await sql<{ path: string }[]>`
          select path from lake_file where brand_id = ${brand.id} and relation = 'served' and retired_at is null`
      ).map(({ path }) => path)
    const named = async () => {
      const [row] =
        await sql`select * from served_generation where brand_id = ${brand.id} order by generation desc`
      return Object.entries(row ?? {}).flatMap(([name, path]) =>
        name.endsWith('_path') && path ? [path, ...(name === 'members_path' ? [] : [rowFilePath(path)])] : [],
      )
    }
    for (const [day, parts] of (
      [['models', 'segments'], ['segments'], ['models'], ['segments'], ['segments']] as Part[][]
    ).entries()) {
      // The last as after an edit of a rule.
      if (day === 4) await updateSegment(db, { id, definition: viewedWithin(30), createdBy: 'test' })
      await view(at(`2026-05-0${day + 2}T00:00:00`), 'cleo')
      await refresh(`2026-05-0${day + 3}T00:00:00`, parts, options)
      t.same((await live()).sort(), [...new Set(await named())].sort())
    }
  })

  t.test(`visits alone leave the sums of everyone where they are, an order moves them, ${how}`, async (t) => {
    const { brand, view, order, refresh } = await shop()
    const sums = async () => {
      const [row] = await sql`
        select coalesce(models_sums_path, models_base_path) as path from served_generation
        where brand_id = ${brand.id} order by generation desc limit 1`
      return row?.path
    }
    await refresh('2026-05-02T01:00:00')
    const first = await sums()
    await view(at('2026-05-02T02:00:00'), 'dora')
    await refresh('2026-05-02T03:00:00', ['models'], options)
    if (how !== 'whole') t.equal(await sums(), first)
    await order('2')
    await refresh('2026-05-02T04:00:00', ['models'], options)
    const second = await sums()
    t.not(second, first)
    await refresh('2026-05-03T04:00:00', ['models'], options)
    t.not(await sums(), second, 'another day')
  })
}

t.test('models go on from what segments are made of, too, when these did not finish', async (t) => {
  const { brand, order, view, refresh } = await shop()
  const options = { smallRows: 0, mostTouched: 9 }
  const models = (time: string) => refresh(time, ['models'], options)
  const latest = async () => {
    const reader = await served.reader(brand.id)
    return await reader?.rows(`
      select customer, strftime(rfm.last_order_at, '%d') as day
      from ltv left join rfm using (customer) order by customer`)
  }
  const orders = (subject: number, day: number) => sql`
    insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
    values (${brand.id}, ${`of ${day}`}, gen_random_uuid(), ${subject}, 'complete', 'paid', 'USD', 10, ${`2026-05-0${day}`}, now())`
  await refresh('2026-05-02T00:00:00')
  await view(at('2026-05-03T00:00:00'), 'newcomer')
  await orders(2, 3)
  await order('2')
  await models('2026-05-04T00:00:00')
  await orders(1, 4)
  await order('3')
  await models('2026-05-05T00:00:00')
  t.same(await latest(), [
    { customer: 1, day: '04' },
    { customer: 2, day: '03' },
  ])
})

t.test('an edited rule makes the members of everyone anew over the customers that are there', async (t) => {
  const { brand, db, save, view, shown, refresh, published, viewed } = await shop()
  const { id } = await viewed('edited', 30)
  await save('not buyers', { source: 'customer_profile', rule: { field: 'orders_count', op: '=', value: 0 } })
  const edit = (definition: object) => updateSegment(db, { id, definition, createdBy: 'test' })
  const nobody = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 5 } }
  const paths = async () => {
    const [row] = await sql`
      select base_path, changes_path, members_path, models_base_path from served_generation
      where brand_id = ${brand.id} order by generation desc limit 1`
    return row ?? {}
  }
  const options = { smallRows: 0, mostTouched: 9 }
  const segments = async (time: string, more = {}) => {
    const report = await refresh(time, ['segments'], { ...options, ...more })
    const { served, lake } = await published()
    t.same(served, lake)
    return { full: report.full, edited: Object.keys(served.edited ?? {}), others: served['not buyers'] }
  }
  await refresh('2026-05-02T00:00:00')
  const first = await paths()

  await edit(nobody)
  t.match(await segments('2026-05-03T00:00:00'), { full: true, edited: [] })
  const second = await paths()
  t.match(second, { base_path: first.base_path, models_base_path: first.models_base_path })
  t.ok(second.members_path)

  await view(at('2026-05-03T12:00:00'), 'bob')
  await edit(viewedWithin(30))
  t.match(await segments('2026-05-04T00:00:00'), {
    full: true,
    edited: ['ann', 'bob'],
    others: { bob: String },
  })
  const third = await paths()
  t.match(third, { base_path: first.base_path, models_base_path: first.models_base_path })
  t.ok(third.changes_path, 'bob is new')
  t.not(third.members_path, second.members_path)
  const seen = await shown()

  await view(at('2026-05-04T12:00:00'), 'cleo')
  t.match(await segments('2026-05-05T00:00:00'), { full: false, edited: ['ann', 'bob', 'cleo'] })
  t.equal((await paths()).members_path, third.members_path)

  await edit(nobody)
  t.match(await segments('2026-05-06T00:00:00'), { full: true, edited: [], others: { cleo: String } })
  t.equal((await paths()).base_path, first.base_path)
  t.same(await shown(seen.generation), seen, 'a walk stays')

  await view(at('2026-05-06T12:00:00'), 'dora')
  await edit(viewedWithin(30))
  const anew = await segments('2026-05-07T00:00:00', { mostTouched: 0 })
  t.match(anew, { full: true, edited: ['ann', 'bob', 'cleo', 'dora'] })
  const last = await paths()
  t.match(last, { changes_path: null, models_base_path: first.models_base_path })
  t.not(last.base_path, first.base_path, 'of too many the rows are made anew as well')
})

t.test(
  'who is moved by an edited rule alone stays among the customers, with all of their memberships',
  async (t) => {
    const { brand, db, view, viewed, refresh, published } = await shop()
    const { id } = await viewed('edited', 10)
    await view(at('2026-05-01T12:00:00'), ...Array.from({ length: 30 }, (_, n) => `customer ${n}`))
    await view(at('2026-04-20T00:00:00'), 'early')
    await refresh('2026-05-02T00:00:00')
    const customers = async () =>
      await (await served.reader(brand.id))?.rows('from customers order by customer')
    const before = await customers()
    t.equal(before?.length, 32)
    const { files } = await brandManifest(shared.postgres, brand.id)
    await updateSegment(db, { id, definition: viewedWithin(20), createdBy: 'test' })
    t.match(await refresh('2026-05-02T00:00:00', ['segments'], { smallRows: 0 }), { full: true })
    const made = (await brandManifest(shared.postgres, brand.id)).files.filter(
      ({ relation, id }) => relation === 'served' && !files.some((one) => one.id === id),
    )
    t.match(
      made,
      [
        { path: /\.duckdb$/, level: 0 },
        { path: /\.rows$/, level: 0 },
      ],
      'of what changed alone',
    )
    t.same(await customers(), before)
    const { served: shown, lake } = await published()
    t.same(shown, lake)
    t.match(shown, { edited: { early: String }, viewers: { early: String } })
  },
)

for (const sold of [false, true])
  t.test(
    `a brand that has grown shows all of its marts, ${sold ? 'something' : 'nothing'} sold`,
    async (t) => {
      const { brand, view, order, refresh } = await shop()
      const subscribe = async (number: string) => {
        await sql`
        insert into subscription (brand_id, external_id, id, subject, status, started_at, updated_at)
        values (${brand.id}, ${number}, gen_random_uuid(), 1, 'active', '2026-05-01', now())`
        await snapshotAll(shared)
      }
      const subscriptions = async () =>
        (await (await served.reader(brand.id))?.rows('select external_id from subscriptions order by all'))
          ?.length
      await refresh('2026-05-02T01:00:00')
      await subscribe('1')
      await view(at('2026-05-02T02:00:00'), 'ann')
      await refresh('2026-05-02T03:00:00')
      t.equal(await subscriptions(), 1, 'beside marts that stay')
      await view(at('2026-05-02T03:30:00'), 'dora')
      if (sold) await order('2')
      const grown = { smallRows: 0, mostTouched: 9 }
      await refresh('2026-05-02T04:00:00', undefined, grown)
      t.equal(await subscriptions(), 1)
      await subscribe('2')
      t.notOk((await refresh('2026-05-02T05:00:00', undefined, grown)).full)
      t.equal(await subscriptions(), 2)
    },
  )

t.test(
  'marts of what was sold stay where they are until something is sold, a buyer changes or a day begins',
  async (t) => {
    const { brand, view, order, refresh } = await shop()
    const marts = (await loadModels()).flatMap(({ stored, name }) => (stored ? name : []))
    const shown = async () => {
      const reader = await served.reader(brand.id)
      const rows = marts.map(async (name) => [name, await reader?.rows(`from ${name} order by all`)])
      return Object.fromEntries(await Promise.all(rows))
    }
    /** When all is made anew, the same is shown. */
    const place = async (time: string, what: string) => {
      await refresh(time)
      const [row] =
        await sql`select * from served_generation where brand_id = ${brand.id} order by generation desc`
      const before = await shown()
      await sql`update lake_brand set results = results - 'recipe' where brand_id = ${brand.id}`
      await refresh(time)
      t.same(before, await shown(), what)
      const { base_path, models_base_path, models_sums_path } = row as Record<string, string | null>
      const stays = models_base_path !== base_path
      t.equal(models_sums_path, stays ? base_path : null)
      return stays
    }
    t.notOk(await place('2026-05-02T01:00:00', 'at first'))
    await view(at('2026-05-02T02:00:00'), 'ann')
    await view(at('2026-05-02T02:00:00'), 'dora')
    t.ok(await place('2026-05-02T03:00:00', 'a visit of a buyer, and of someone new'))
    await order('2')
    t.notOk(await place('2026-05-02T04:00:00', 'an order'))
    await sql`update customer set email = 'ann@b.co', updated_at = now() where brand_id = ${brand.id} and subject = 1`
    await snapshotAll(shared)
    t.notOk(await place('2026-05-02T05:00:00', 'another address of a buyer'))
    await sql`update customer set email = 'dora@b.co', updated_at = now() where brand_id = ${brand.id} and subject > 1`
    await snapshotAll(shared)
    t.ok(await place('2026-05-02T06:00:00', 'another address of who bought nothing'))
    await view(at('2026-05-03T00:30:00'), 'dora')
    t.notOk(await place('2026-05-03T01:00:00', 'the next day'))
  },
)

t.test('members of everyone stand as words beside their rows, those of a small brand do not', async (t) => {
  const { brand, db, view, refresh, viewed } = await shop()
  const { id } = await viewed('edited', 30)
  const rows = async (text: string) => (await (await served.reader(brand.id))?.rows(text)) ?? []
  const words = () => rows('from member_words order by customer')
  const ofRows = () =>
    rows(`select customer, bit_or(1::bigint << place) as word_0 from base_members join member_places using (segment)
      group by customer order by customer`)
  await refresh('2026-05-02T00:00:00')
  await t.rejects(words(), /member_words/)
  await sql`update lake_brand set results = results - 'recipe' where brand_id = ${brand.id}`
  await refresh('2026-05-02T01:00:00', undefined, { smallRows: 0 })
  const first = await words()
  t.ok(first.length)
  t.same(first, await ofRows())

  await view(at('2026-05-03T12:00:00'), 'bob')
  await updateSegment(db, { id, definition: viewedWithin(7), createdBy: 'test' })
  const { full } = await refresh('2026-05-09T12:00:00', ['segments'], {
    smallRows: 0,
    mostTouched: 9,
    mostMoved: 0,
  })
  t.ok(full)
  t.notSame(await words(), first)
  t.same(await words(), await ofRows(), 'made anew')
})

t.test('a segment that is archived during a refresh stays as it was', async (t) => {
  const { brand, db, view, refresh, viewed } = await shop()
  const { id } = await viewed('gone', 30)
  await refresh('2026-05-02T00:00:00')
  await view(at('2026-05-02T12:00:00'), 'bob')
  const { pipeline } = shared.postgres
  const many: typeof pipeline.many = async (name, args) => {
    const rows = await pipeline.many<never>(name, args)
    if (name === 'segments_to_evaluate') await archiveSegment(db, id)
    return rows
  }
  const meanwhile = { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, many } } }
  const asOf = at('2026-05-03T00:00:00')
  const { ordinal } = await db.one<SegmentWithDefinition>('segment_by_id', [id])
  const changes = async () =>
    (await memberChanges(shared, brand.id)).filter(({ segment }) => segment === ordinal)
  const before = await changes()
  await t.rejects(refreshBrand(meanwhile, brand.id, { asOf }), { name: 'Outrun' })
  t.match(await refreshBrand(shared, brand.id, { asOf }), { failed: [] }, 'the next one leaves it out')
  t.same(await changes(), before)
  t.match(audienceOf(await db.one<SegmentWithDefinition>('segment_by_id', [id])), { generation: 1 })
})

t.test('a rule that is edited or made while a refresh begins is evaluated for everyone', async (t) => {
  const { brand, db, save, view, refresh, published, viewed } = await shop()
  const { id } = await viewed('edited', 30)
  const options = { smallRows: 0, mostTouched: 9 }
  await refresh('2026-05-02T00:00:00')
  await view(at('2026-05-02T12:00:00'), 'bob')
  const { pipeline } = shared.postgres
  let begun = false
  const many: typeof pipeline.many = async (name, args) => {
    if (name === 'segments_to_evaluate' && !begun) {
      begun = true
      await updateSegment(db, { id, definition: viewedWithin(1), createdBy: 'test' })
      await save('made', { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } })
    }
    return await pipeline.many(name, args)
  }
  const meanwhile = { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, many } } }
  await refreshBrand(meanwhile, brand.id, { asOf: at('2026-05-03T00:00:00'), ...options })
  const { served } = await published()
  t.match(
    { edited: Object.keys(served.edited ?? {}), made: Object.keys(served.made ?? {}) },
    {
      edited: ['bob'],
      made: ['ann'],
    },
  )
  t.match(await refresh('2026-05-03T00:15:00', undefined, options), { full: false })
  t.same(
    (await memberChanges(shared, brand.id)).flatMap(({ tick, segment, action, reason }) =>
      tick > 1 && segment > 2 ? [[segment, action, reason]] : [],
    ),
    [
      [3, 'exited', 'definition_changed'],
      [3, 'entered', 'definition_changed'],
      [4, 'entered', 'segment_created'],
    ],
  )
})

t.test('what is made the first time, or with other models, is made together', async (t) => {
  const { brand, refresh, shown } = await shop()
  t.match(await refresh('2026-05-02T00:00:00', ['segments']), { generation: 1, full: true })
  t.match(await shown(), { orders: 1, members: 2 })
  await sql`update lake_brand set results = results - 'recipe' where brand_id = ${brand.id}`
  const before = await sql`select * from served_generation where brand_id = ${brand.id}`
  await refresh('2026-05-02T00:00:00', ['models'])
  const [after] =
    await sql`select * from served_generation where brand_id = ${brand.id} order by generation desc`
  t.equal(after?.base_path, after?.models_base_path)
  t.not(after?.base_path, before[0]?.base_path)
})

t.test('of a setting that changes between models and segments both are made', async (t) => {
  const { brand, shown, refresh } = await shop()
  for (const number of ['2', '3'])
    await sql`
      insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
      values (${brand.id}, ${number}, gen_random_uuid(), 1, 'complete', 'paid', 'EUR', 10, '2026-05-01', now())`
  await snapshotAll(shared)
  await refresh('2026-05-02T00:00:00')
  t.match(await shown(), { counted: 1, scored: 1 })
  const { pipeline } = shared.postgres
  let round = 0
  const maybe: typeof pipeline.maybe = async (name, args) => {
    if (name !== 'lake_brand_row') return await pipeline.maybe(name, args)
    if (++round === 2) await sql`update brand set currency_code = 'EUR' where id = ${brand.id}`
    return { ...(await pipeline.one<object>(name, args)), own_rows: 5_000_000 } as never
  }
  const large = { ...shared, postgres: { ...shared.postgres, pipeline: { ...pipeline, maybe } } }
  await refreshBrand(large, brand.id, { asOf: at('2026-05-03T00:00:00') })
  t.equal(round, 2)
  t.match(await shown(), { counted: 2, scored: 2, generation: 3 })
})

t.test('of models and segments at once one publishes, the other is outrun and comes next', async (t) => {
  const { order, shown, refresh } = await shop()
  await refresh('2026-05-02T00:00:00')
  await order('2')
  const parts = [['models'], ['segments']] as const
  const ran = await Promise.allSettled(parts.map((each) => refresh('2026-05-03T00:00:00', each)))
  t.match(ran.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  for (const [index, { status }] of ran.entries())
    if (status === 'rejected') await refresh('2026-05-03T00:00:00', parts[index])
  t.same(await shown(), { orders: 2, counted: 2, scored: 2, members: 2, generation: 3 })
})

t.test('a visit moves no score: what was computed to look gives way to what is published', async (t) => {
  const { brand, view, refresh, shown } = await shop()
  await sql`call built_in_segments(${brand.id})`
  await refresh('2026-05-02T01:00:00')
  const { scored } = (await shown()) as { scored?: number }
  await view(at('2026-05-02T02:00:00'), 'eve')
  const options = { smallRows: 0, mostTouched: 9 }
  t.match(await refresh('2026-05-02T23:00:00', undefined, options), {
    full: false,
    published: true,
    failed: [],
  })
  t.match(await shown(), { orders: 1, scored })
})

import t, { type Test } from 'tap'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openServed } from '../src/lake/served.ts'
import { SORT_MARK_EVERY, SORTED_BY, type SortColumn } from '../src/lake/sorted.ts'
import { setLogLevel } from '../src/log.ts'
import type { Published } from '../src/op.ts'
import { type CustomerOrder, type SortedPlace, sortedCustomers } from '../src/ops/sorted-customers.ts'
import { type RefreshOptions, refreshBrand } from '../src/segment/refresh.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake, logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { randomCustomers } from './fixtures/random-customers.ts'

setLogLevel('error')
t.capture(process.stderr, 'write')

const LARGE: RefreshOptions = { smallRows: 0, mostTouched: 0.5 }
/** A tenth of those with orders. */
const FALLEN = 200

const random = randomSource(t)
const pipeline = await lake(t)
const { sql } = pipeline.postgres
const served = openServed(pipeline)
t.teardown(() => served.close())
const brand = await newBrand({ postgres: pipeline.postgres })
await randomCustomers(sql, brand, random, 4_500)
// Hardly two of them at once: what lies between marks differs.
await sql`update customer set created_at = created_at - subject / 2 * interval '1 second' where brand_id = ${brand.id}`
await snapshotAll(pipeline)

const ORDERS = SORTED_BY.flatMap((column): CustomerOrder[] => [
  { column, descending: false },
  { column, descending: true },
])

type Row = { customer_id: string } & Record<SortColumn, string | Date | null>

async function reader(): Promise<Published> {
  const found = await served.reader(brand.id)
  if (!found) throw new Error('nothing is published')
  return found
}

/** Sorted tables that the base has stored. */
const stored = async (published: Published) =>
  (
    await published.rows<{ name: string }>(
      `select table_name as name from duckdb_tables()
       where database_name = 'base' and starts_with(table_name, 'customers_by_') and not ends_with(table_name, 'marks')`,
    )
  ).map(({ name }) => name.replace('customers_by_', ''))

/** Ids of all known customers, by the values of their rows, nulls last, ties by id. */
async function naive(published: Published, { column, descending }: CustomerOrder): Promise<string[]> {
  const rows = await published.rows<Row>(
    `select customer_id, ${SORTED_BY.join(', ')} from customers where provenance <> 'pixel'`,
  )
  const number = (value: string | Date | null) => (value === null ? Number.POSITIVE_INFINITY : Number(value))
  const value = (row: Row) =>
    descending && row[column] !== null ? -number(row[column]) : number(row[column])
  return rows
    .sort((a, b) =>
      value(a) === value(b) ? (a.customer_id < b.customer_id ? -1 : 1) : value(a) < value(b) ? -1 : 1,
    )
    .map(({ customer_id }) => customer_id)
}

/** Values that a cursor of an earlier refresh may name: below and above all that there are now. */
const BOUNDS: readonly Record<SortColumn, string>[] = [
  ['-1.00', '-1', '1999-01-01'] as const,
  ['99999999.00', '1000000', '2999-01-01'] as const,
].map(([total_spend, orders_count, time]) => ({
  ...{ total_spend, orders_count },
  ...{ created_at: time, last_order_at: time, last_event_at: time },
}))

/** Every page of a walk, and pages after some customers, found by their ids or by their places. */
async function holdsEverySort(t: Test, published: Published): Promise<void> {
  for (const order of ORDERS) {
    const title = `${order.column}, ${order.descending ? 'downwards' : 'upwards'}`
    const wanted = await naive(published, order)
    const walked: string[] = []
    const places: SortedPlace[] = []
    for (let after: SortedPlace | null = null; ; ) {
      const page = await sortedCustomers(published, order, { after, limit: 500 })
      walked.push(...page.map(({ customer_id }) => customer_id))
      places.push(...page.map(({ place }) => place))
      after = places.at(-1) ?? null
      if (page.length < 500) break
    }
    t.same(walked, wanted, title)
    t.same(await idsAfter(published, order, null, 7), wanted.slice(0, 7), `${title}: a short first page`)
    const [before, behind] = order.descending ? BOUNDS.toReversed() : BOUNDS
    t.same(
      await idsAfter(published, order, { value: before?.[order.column] ?? null, id: 'x' }, 7),
      wanted.slice(0, 7),
      `${title}: from before all`,
    )
    t.same(
      await idsAfter(published, order, { value: behind?.[order.column] ?? null, id: 'x' }, 7),
      places.flatMap(({ value, id }) => (value === null ? id : [])).slice(0, 7),
      `${title}: from behind all values`,
    )
    for (const place of [...aroundMarks(places), ...random.list(4, 4, () => random.pick(places))]) {
      const [from, limit] = [wanted.indexOf(place.id) + 1, 1 + random.below(9)]
      const after = random.chance(0.5) ? place : { ...place, position: undefined }
      const next = wanted.slice(from, from + limit)
      t.same(await idsAfter(published, order, after, limit), next, `${title}: after ${JSON.stringify(after)}`)
    }
  }
}

/** Those who stand by the ends of what is looked at. */
function aroundMarks(places: readonly SortedPlace[]): SortedPlace[] {
  const valued = places.filter(({ value }) => value !== null)
  return [1, 2].flatMap((mark) =>
    [-2, 0, 2].flatMap((apart) => valued.at(-mark * SORT_MARK_EVERY + apart - 1) ?? []),
  )
}

const idsAfter = async (
  published: Published,
  order: CustomerOrder,
  after: SortedPlace | null,
  limit: number,
) => (await sortedCustomers(published, order, { after, limit })).map(({ customer_id }) => customer_id)

t.test('pages of few customers come from their rows', async (t) => {
  await refreshBrand(pipeline, brand.id)
  const published = await reader()
  t.same(await stored(published), [])
  await holdsEverySort(t, published)
})

t.test('many customers are stored once more in the order of each sort, and pages are the same', async (t) => {
  await sql`update lake_brand set results = results - 'recipe' where brand_id = ${brand.id}`
  const { full } = await refreshBrand(pipeline, brand.id, LARGE)
  t.equal(full, true)
  const published = await reader()
  t.same((await stored(published)).sort(), [...SORTED_BY].sort())
  await holdsEverySort(t, published)
})

t.test('those who led a sort and fell behind the others since leave no gap', async (t) => {
  const leading = await naive(await reader(), { column: 'total_spend', descending: true })
  const fallen = leading.slice(0, FALLEN)
  await sql`
    update store_order set state = 'cancelled', updated_at = now()
    where brand_id = ${brand.id}
      and subject in (select subject from customer where brand_id = ${brand.id} and id in ${sql(fallen)})`
  for (let n = 0; n < 50; n++)
    await logBatch(sql, [{ brand_id: brand.id, store_customer_id: String(random.below(1e6)) }])
  await snapshotAll(pipeline)
  const { full } = await refreshBrand(pipeline, brand.id, LARGE)
  t.equal(full, false)
  const published = await reader()
  t.same(
    (await naive(published, { column: 'total_spend', descending: true }))
      .slice(0, FALLEN)
      .filter((id) => fallen.includes(id)),
    [],
  )
  await holdsEverySort(t, published)
})

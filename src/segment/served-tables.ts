import type { Pipeline } from '../lake/pipeline.ts'
import { type ServedTable, without, writeChanges, writeServed } from '../lake/served.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import type { Duck } from '../store/duckdb.ts'
import type { WrittenFile } from '../store/lake.ts'
import { mergeMarts } from './touched.ts'
import type { BrandRow } from './way.ts'

const served = (name: string, select: string): ServedTable => ({ name, select })

/** As of when, and by which settings of the brand, the results are. */
const PARAMS = served('params', 'from params')

/** Each so-manieth position has its customer id in a small table of its own, by which any id is found. */
const MARK_EVERY = 1024

/**
 * The texts of customers that a search looks through, in lower case; a control character keeps them apart. Compressed
 * it would take twice as long to look through those of a million, and as columns five times.
 */
const texts = (rows: string): ServedTable => ({
  name: 'customer_texts',
  columns: 'customer integer, text varchar using compression uncompressed',
  select: `select customer, lower(concat_ws(
      chr(31), email, phone, concat_ws(' ', first_name, last_name), customer_id, store_customer_id
    )) as text ${rows}`,
})
const KNOWN = `provenance <> 'pixel'`

/** All marts, params and members. Customers and members have positions: places by customer id. */
export async function writeBase({ lakeDir }: Pipeline, session: Session, marts: readonly Model[]) {
  await session.duck.run(
    `create table positions as
     select customer, (row_number() over ())::integer as position from (select customer from customers order by customer_id)`,
  )
  const placed = (name: string) => `from ${name} join positions using (customer)`
  const customers = `select customers.*, position ${placed('customers')} order by position`
  const marks = `select position, customer_id ${placed('customers')} where position % ${MARK_EVERY} = 1 order by position`
  const members = `select segment, position, customer, joined_at ${placed('members')} order by segment, position`
  return await writeServed(lakeDir, session, [
    ...marts.map(({ name }) => served(name, name === 'customers' ? customers : `from ${name}`)),
    PARAMS,
    served('customer_marks', marks),
    texts(`${placed('customers')} where ${KNOWN} order by position`),
    served('members', members),
  ])
}

/**
 * The touched customers' rows, with those that earlier generations since the base changed and this one did not; and
 * the marts that are not made by customer, over everyone's rows.
 */
export async function writeTouched(
  { lakeDir }: Pipeline,
  session: Session,
  brand: BrandRow,
  models: readonly Model[],
): Promise<WrittenFile> {
  const { duck } = session
  const isFirst = brand.changed_customers === 0
  const marts = models.filter(({ layer }) => layer === 'mart')
  const untouched = await without(duck, 'touched')
  const earlier = (name: string) => (isFirst ? '' : ` union all by name from changes.${name} ${untouched}`)
  await duck.run(
    'create table replaced as select customer from touched union select customer from changes.replaced',
  )
  await placeTouched(duck)
  const rowsOfTouched = (name: string) =>
    name === 'customers'
      ? '(from customers_touched join touched_positions using (customer))'
      : `${name}_touched`
  const rows = marts.flatMap(({ name, by }) =>
    by ? served(name, `from ${rowsOfTouched(name)}${earlier(name)}`) : [],
  )
  await duck.run('create table touched_members as from members join touched_positions using (customer)')
  await mergeMarts(duck, models)
  const others = marts.filter(({ by }) => !by)
  const members = `from (from touched_members${earlier('members')}) order by segment, position`
  return await writeChanges(
    lakeDir,
    session,
    [
      ...rows,
      texts(`from (select * from customers_touched${earlier('customers')}) where ${KNOWN}`),
      served('members', members),
    ],
    [...others.map(({ name }) => served(name, `from ${name}`)), PARAMS],
  )
}

/** Who is new since the base has the position of the last one there whose id is not greater. */
async function placeTouched(duck: Duck): Promise<void> {
  await duck.run(`
    create table touched_positions as
    with known as (
      select customer, position from published.customers_placed semi join customers using (customer)
    ),
    added as (
      select new.customer, new.customer_id, coalesce(mark.position, 1) as first
      from (from customers anti join known using (customer)) as new
      asof left join base.customer_marks as mark on new.customer_id >= mark.customer_id
    )
    from known
    union all
    select added.customer, (first - 1 + count(near.customer_id))::integer as position
    from added
    left join base.customers as near
      on (near.position - 1) // ${MARK_EVERY} = (first - 1) // ${MARK_EVERY} and near.customer_id <= added.customer_id
    group by added.customer, first`)
}

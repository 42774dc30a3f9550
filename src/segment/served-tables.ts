import { folded } from '../lake/folded.ts'
import { type Generation, without } from '../lake/generation.ts'
import {
  type ServedTable,
  type Serving,
  type WrittenServed,
  writeChanges,
  writeServing,
} from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import { KNOWN, sortedTables } from '../lake/sorted.ts'
import type { Model } from '../model/graph.ts'
import { naming, runModels } from '../model/run.ts'
import type { Duck } from '../store/duckdb.ts'
import { wordTables } from './member-words.ts'

const served = (name: string, select: string): ServedTable => ({ name, select })

/** As of when, and by which settings of the brand, the marts are. */
export const PARAMS = served('params', 'from params')

/** Each so-manieth position has its customer id in a small table of its own, by which any id is found. */
const MARK_EVERY = 1024

/**
 * The texts of customers that a search looks through, folded; a control character keeps them apart. Compressed
 * it would take twice as long to look through those of a million, and as columns five times.
 */
const texts = (rows: string): ServedTable => ({
  name: 'customer_texts',
  plain: ['text'],
  select: `select position, customer, ${folded(`concat_ws(
      chr(31), email, phone, concat_ws(' ', first_name, last_name), customer_id,
      case when not suffix(customer_id, store_customer_id) then store_customer_id end,
      array_to_string(aliases, chr(31))
    )`)} as text ${rows} order by position`,
})

/** Computes `customers` into the file, each with a position: the place by customer id. */
export async function placeCustomers(session: Session, serving: Serving, model: Model): Promise<void> {
  const { duck, isSmall } = session
  const { name, sql, plain = [] } = model
  const [rows, place] = isSmall
    ? [`(\n${sql}\n)`, 'row_number() over (order by customer_id)']
    : [await viewOf(duck, model), 'null']
  const select = `select *, (${place})::integer as position from ${rows} order by customer_id`
  await naming(model, () => serving.add([{ ...served(name, select), plain, shown: '* exclude (position)' }]))
  // Numbering the sorted rows of a SELECT is the work of one thread; those of a table are numbered.
  if (!isSmall) await duck.run(`update ${serving.name}.${name} set position = rowid + 1`)
}

async function viewOf(duck: Duck, model: Model): Promise<string> {
  await runModels(duck.connection, [model], { materialize: () => 'view' })
  return model.name
}

/** What customers of a table are found by: the places of their ids, and their texts. */
export const foundBy = (customers: string): ServedTable[] => [
  served(
    'customer_marks',
    `select position, customer_id from ${customers} where position % ${MARK_EVERY} = 1 order by position`,
  ),
  texts(`from ${customers} where ${KNOWN}`),
]

/** What is found by the positions of customers: the members, and the places of ids, of texts and in sorted lists; and `others`. */
export async function addMembers(
  session: Session,
  serving: Serving,
  others: readonly ServedTable[] = [],
): Promise<void> {
  const customers = `${serving.name}.customers`
  const members = `select segment, position, customer, joined_at
    from members join (select customer, position from ${customers}) using (customer) order by segment, position`
  const found = [...foundBy(customers), ...(session.isSmall ? [] : sortedTables(serving.name)), ...others]
  await addMemberRows(session, serving, members, found)
}

/** Members of everyone; as words beside them where they are many enough to be compared without their rows. */
async function addMemberRows(
  { duck, isSmall }: Session,
  serving: Serving,
  select: string,
  before: readonly ServedTable[] = [],
): Promise<void> {
  await serving.add([...before, served('members', select)])
  if (!isSmall) await serving.add(await wordTables(duck, `${serving.name}.members`))
}

/** Files that replace what a generation shows of segments; null where that holds still. */
interface WrittenMembers {
  changes: WrittenServed | null
  members: WrittenServed | null
}

/**
 * The touched customers' rows and memberships, with those that earlier generations since the base changed and this one
 * did not. A table `customers` has rows of the touched ones only; `before`: where their positions are, when it is known
 * that these are among fewer.
 */
export async function writeTouchedMembers(
  session: Session,
  published: Generation,
  customers: string,
  before?: string,
): Promise<WrittenMembers> {
  const { duck } = session
  await replace(duck, 'changes')
  await placeTouched(duck, customers, before)
  await duck.run('create table touched_members as from members join touched_positions using (customer)')
  const earlier = await earlierThan(duck, published)
  const members = served('members', `from (from touched_members${earlier('members')}) ${BY_PLACE}`)
  const rows = [...customersIn(customers, earlier), members]
  return { changes: await writeChanges(session, rows, []), members: null }
}

/**
 * The members of everyone, where rows of customers are carried on: those who are as in the base in a file of their own,
 * the others with their rows. `customers_touched` has rows of the touched ones only.
 */
export async function writeMembersAnew(session: Session, published: Generation): Promise<WrittenMembers> {
  const { duck } = session
  await replace(duck, 'changes')
  await placeTouched(duck, 'customers_touched')
  const placed = (positions: string) =>
    `select segment, position, customer, joined_at
     from members join (select customer, position ${positions}) using (customer) ${BY_PLACE}`
  const unchanged = await without(duck, 'replaced')
  const members = await writeServing(session, (serving) =>
    addMemberRows(session, serving, placed(`from base.customers ${unchanged}`)),
  )
  const [some] = await duck.rows('select 1 from replaced limit 1')
  if (!some) return { changes: null, members }
  const [customers, ...others] = customersIn('customers_touched', await earlierThan(duck, published))
  const rows = [customers, ...others, served('members', placed(`from (${customers.select})`))]
  return { changes: await writeChanges(session, rows, []), members }
}

const BY_PLACE = 'order by segment, position'

type Earlier = (name: string) => string

/** Rows of those whom earlier generations since the base changed, and this one did not. */
async function earlierThan(duck: Duck, { changes_path }: Generation): Promise<Earlier> {
  const untouched = await without(duck, 'touched')
  return (name) => (changes_path ? ` union all by name from changes.${name} ${untouched}` : '')
}

/** Customers of a file of changes; `table`: the touched ones. */
function customersIn(table: string, earlier: Earlier): [ServedTable, ServedTable] {
  const placed = `from (from ${table} join touched_positions using (customer))${earlier('customers')}`
  return [served('customers', placed), texts(`from (${placed}) where ${KNOWN}`)]
}

/** The same of marts by customer: `<mart>_touched`. */
export async function writeTouchedMarts(
  session: Session,
  { models_changes_path }: Generation,
  models: readonly Model[],
): Promise<WrittenServed> {
  const { duck } = session
  const untouched = await without(duck, 'touched')
  await replace(duck, models_changes_path ? 'models_changes' : null)
  const rows = models.flatMap(({ stored, name, by }) => {
    if (!stored || !by || name === 'customers') return []
    const earlier = models_changes_path ? ` union all by name from models_changes.${name} ${untouched}` : ''
    return served(name, `from ${name}_touched${earlier}`)
  })
  return await writeChanges(session, rows, [PARAMS])
}

/** `replaced`: whose rows are those of the changes, and none of the base's. */
async function replace(duck: Duck, changes: string | null): Promise<void> {
  const earlier = changes ? `union select customer from ${changes}.replaced` : ''
  await duck.run(`create or replace table replaced as select customer from touched ${earlier}`)
}

/**
 * Places of the touched customers, whose rows a table has: who is new since the base has the position of the last one
 * there whose id is not greater.
 */
async function placeTouched(duck: Duck, table: string, before = 'published.customers_placed'): Promise<void> {
  await duck.run(`
    create table touched_positions as
    with known as (select customer, position from ${before} semi join ${table} using (customer)),
    added as (
      select new.customer, new.customer_id, coalesce(mark.position, 1) as first
      from (from ${table} anti join known using (customer)) as new
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

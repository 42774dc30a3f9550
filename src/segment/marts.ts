import { publishedRows } from '../lake/generation.ts'
import type { Serving } from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import { type Columns, type Model, upstreamOf } from '../model/graph.ts'
import { runModels, runTogether, type Step } from '../model/run.ts'
import { isEdited } from '../model/shipped.ts'
import { type Duck, identifier } from '../store/duckdb.ts'
import { cameOf, EVENTS } from './came.ts'
import { narrowed } from './narrow.ts'
import type { Parts } from './part.ts'
import { parted } from './plan.ts'
import { openPublishedScores } from './scored.ts'
import { placeCustomers } from './served-tables.ts'
import type { Staying } from './staying.ts'
import { mergeMarts, restrict } from './touched.ts'
import type { Asks, Task } from './way.ts'

/** Staging models over all events, which few statements read, each other columns. */
const OVER_EVENTS: ReadonlySet<string> = new Set(['stg_events', 'stg_engagement_events'])

/** Of few rows it takes longer to plan what a view stands for than to copy them: of 22,000 half as long again. */
export async function openStaging(
  { duck, isSmall, asOf }: Session,
  { models, narrow, hollow }: Pick<Task, 'models' | 'narrow' | 'hollow'>,
): Promise<void> {
  const tables = models.flatMap(({ name, layer }) => {
    const columns =
      layer === 'staging' && hollow.get(name)?.map(([column, type]) => `${identifier(column)} ${type}`)
    return columns ? `create table ${name} (${columns.join(', ')})` : []
  })
  if (tables.length) await duck.run(tables.join('; '))
  await runTogether(
    duck,
    models.flatMap((model) => {
      const read = narrow.get(model.name)
      if (model.layer !== 'staging' || hollow.has(model.name)) return []
      return read ? { ...model, sql: narrowed(`(\n${model.sql}\n)`, read, asOf) } : model
    }),
    ({ name }) => (isSmall && !OVER_EVENTS.has(name) ? 'table' : 'view'),
  )
}

const hollowSql = (columns: Columns) =>
  `select ${columns.map(([name, type]) => `null::${type} as ${identifier(name)}`).join(', ')} where false`

/** The mart that conditions on profiles read, and member pages: it is published with the segments. */
export const CUSTOMERS = 'customers'

/**
 * Computes what a refresh needs of the marts of everyone straight into the file that is to be published, where the next
 * ones and the segments read them; those that stay are as published. Returns how many rows that made.
 */
export async function computeMarts(
  session: Session,
  { models, parts, hollow }: Pick<Task, 'models' | 'parts' | 'hollow'>,
  serving: Serving,
  staying: Pick<Staying, 'names' | 'scoresRead'> | null = null,
): Promise<number> {
  const { duck } = session
  const needed = parts.has('models') ? models : upstreamOf([CUSTOMERS], models)
  const marts = needed.filter(({ layer, name }) => layer === 'mart' && !staying?.names.has(name))
  if (!parts.has('models') || staying?.scoresRead) await openPublishedScores(duck)
  let rows = 0
  const [empty, made] = parted(marts, ({ name }) => name !== CUSTOMERS && hollow.has(name))
  await serving.add(
    empty.map(({ name }) => ({ name, select: hollowSql(hollow.get(name) ?? []), shown: '*' })),
  )
  for (const model of made) {
    if (model.name !== CUSTOMERS) rows += rowsOf(await runModels(duck.connection, [model], { into: serving }))
    else if (!parts.has('segments')) rows += rowsOf(await runModels(duck.connection, [model]))
    else await placeCustomers(session, serving, model)
  }
  return rows
}

/**
 * Computes what a refresh needs of the marts by customer, as tables of the touched customers' rows; for segments also
 * `customers_before`, these customers as they were published, with their positions.
 */
export async function computeTouched(
  session: Session,
  models: readonly Model[],
  parts: Parts,
  asks: Asks,
): Promise<number> {
  const { duck } = session
  if (parts.has('segments'))
    await duck.run(`create table customers_before as ${publishedRows(asks.places, 'customers', 'touched')}`)
  if (!parts.has('models')) return await computeCustomers(session, models, asks)
  const marts = models.filter(({ layer, by }) => layer === 'mart' && by)
  return rowsOf(await runModels(duck.connection, marts))
}

/**
 * The touched customers' rows. Most differ from the published ones by the time of the latest event only, which is that
 * of one that came, or none: events are final. The others are computed, and all of a model that somebody edited, which may
 * have more of events.
 */
async function computeCustomers(
  { duck }: Session,
  models: readonly Model[],
  { roots }: Asks,
): Promise<number> {
  const needed = upstreamOf([CUSTOMERS], models)
  const model = needed.find(({ name }) => name === CUSTOMERS)
  if (!model?.seen) throw new Error(`${CUSTOMERS} does not say what it has of events`)
  await duck.run(
    `create table remade as select customer from touched where ${isEdited(model) ? KNOWN : OTHERWISE}`,
  )
  await duck.run(`
    create table seen as
    select customer, max(occurred_at) as seen_at
    from ${cameOf(EVENTS)}
    group by customer`)
  await restrict(duck, roots, 'remade', 'touched_redirects')
  const steps = await runModels(duck.connection, [model])
  await duck.run(`
    insert into ${CUSTOMERS} by name
    select before.* exclude (position) replace (greatest(${model.seen}, seen_at) as ${model.seen})
    from (from customers_before anti join remade using (customer)) as before
    left join seen using (customer)`)
  return rowsOf(steps)
}

const KNOWN = 'customer is not null'

/** Who was not there, or of whom there is more than events. */
const OTHERWISE = `customer not in (select customer from customers_before)
  or customer in (
    select customer from changed_rows where relation != 'events'
    union all
    select customer from dated_rows where customer is not null and relation != 'events'
  )`

/** Computes the rows of the touched customers only, and shows everyone's: the others are as they were published. */
export async function carryCustomers(duck: Duck, models: readonly Model[]): Promise<number> {
  const needed = models.filter(({ layer, name }) => layer === 'staging' || name === CUSTOMERS)
  const steps = await runModels(
    duck.connection,
    needed.filter(({ layer }) => layer === 'mart'),
  )
  await mergeMarts(duck, needed)
  return rowsOf(steps)
}

const rowsOf = (steps: readonly Step[]): number => steps.reduce((sum, { rows }) => sum + (rows ?? 0), 0)

import { attachGeneration, generationOf } from '../lake/generation.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { sourceName } from '../lake/relations.ts'
import { openSession, type Session, type SessionOptions, SMALL_ROWS } from '../lake/session.ts'
import { loadReadable, type Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { runModels } from '../model/run.ts'
import type { Brand } from '../op.ts'
import { type Duck, instant, literal } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import type { BrandRow } from './brand-row.ts'
import { CUSTOMERS } from './marts.ts'
import { openHistory, openMembers, openSegmentIds } from './members.ts'
import { areOfSales, salesMoved } from './moved.ts'
import { BOTH, type Start, startOf } from './part.ts'
import { openRecent } from './recent.ts'
import { mergeMarts, openChanged, openDated, openTouched, restrict, rootsOf } from './touched.ts'
import { recipeOf, whyAnew } from './way.ts'

/**
 * All that rules and data teams read of a brand in one locked session, beside its sources: the models,
 * `member_history` and `segment_members (segment_id, customer)`, the members at the session's instant under the
 * customer of today. Marts of many customers are the published ones, but for those whose rows changed since. As of now
 * or of a past instant. With a pin sources and models are those of an earlier session; members are never.
 */
export async function openReading(
  pipeline: Pipeline,
  brand: Brand,
  past?: Date,
  {
    smallRows = SMALL_ROWS,
    counted = false,
    pin,
    signal,
  }: Pick<SessionOptions, 'smallRows' | 'counted' | 'pin' | 'signal'> = {},
): Promise<Session> {
  const row = await pipeline.postgres.pipeline.one<BrandRow>('lake_brand_row', [brand.id])
  const start = startOf(row, BOTH, [])
  const asOf = past ?? new Date()
  const goesOn = row.as_of !== null && asOf >= row.as_of
  const session = await openSession(pipeline, row, asOf, {
    since: goesOn && start ? start.ticks : [],
    smallRows,
    counted,
    pin,
    signal,
  })
  try {
    const isPast = past !== undefined && pin?.past !== false
    if (isPast) await openOrdersThen(session.duck)
    const { models } = await loadReadable()
    await openMarts(pipeline, session, row, {
      start,
      smallRows,
      recipe: recipeOf(models, row),
      models: isPast ? models.map(withAttributesNow) : models,
    })
    await openSegmentMembers(pipeline, session, models)
    return session
  } catch (error) {
    await session.close()
    throw error
  }
}

/** What became of orders after the session's instant has not happened yet. */
async function openOrdersThen(duck: Duck): Promise<void> {
  const orders = sourceName('orders')
  await duck.run(`alter view ${orders} rename to orders_now`)
  await duck.run(`create view ${orders} as ${statement('duckdb', 'orders_then')}`)
}

/** Attributes are as they are now, whatever the session's instant: as tags and names are. Marts say the same. */
function withAttributesNow(model: Model): Model {
  if (model.name !== 'stg_customer_attributes') return model
  const now = literal(new Date().toISOString())
  const params = `select * replace (timestamp ${now} as as_of) from main.params`
  return { ...model, sql: over([model], model.name, { params }) }
}

interface Made {
  start: Start | null
  smallRows: number
  recipe: string
  models: readonly Model[]
}

async function openMarts(
  pipeline: Pipeline,
  session: Session,
  brand: BrandRow,
  { start, smallRows, recipe, models }: Made,
): Promise<void> {
  const { duck, manifest, asOf } = session
  const marts = models.filter(({ layer }) => layer === 'mart')
  await runModels(
    duck.connection,
    models.filter(({ layer }) => layer === 'staging'),
  )
  const anew = whyAnew(brand, manifest, {
    asOf,
    recipe,
    since: Math.min(...(start?.ticks ?? [])),
    smallRows,
  })
  const published = anew ? undefined : await generationOf(pipeline, brand.id, brand.generation)
  if (!published || published.generation !== brand.generation || !start) {
    await runModels(duck.connection, marts, {
      materialize: ({ name }) => (name === CUSTOMERS ? 'table' : 'view'),
    })
    return
  }
  await attachGeneration(session, published)
  await openChanged(duck, 'table')
  await openDated(session, start.from)
  await openTouched(duck, [], start.from)
  await restrict(duck, rootsOf(models))
  await runModels(
    duck.connection,
    marts.filter(({ by }) => by),
  )
  const moved = !areOfSales(models) || (await salesMoved(session, brand.models_tick, start.from))
  await mergeMarts(duck, models, moved ? 'everyone when asked' : 'everyone as published')
  await openRecent(session, models)
}

/** Whom the store hides is a member still of what was not evaluated since, and shown nowhere. */
async function openSegmentMembers(
  pipeline: Pipeline,
  session: Session,
  models: readonly Model[],
): Promise<void> {
  const { duck, manifest, asOf } = session
  await openMembers(session, 'view')
  await openHistory(session)
  const segments = await pipeline.postgres.pipeline.many<{ id: string; ordinal: number }>(
    'segment_ordinals',
    [manifest.brandId],
  )
  await openSegmentIds(duck, segments)
  const [later] = await duck.rows(`from member_history where changed_at > ${instant(asOf)} limit 1`)
  // The past is played again from the history: the members of now have lost when someone left.
  const members = later
    ? `select segment, customer from member_history where changed_at <= ${instant(asOf)}
       group by segment, customer having arg_max(action, generation) = 'entered'`
    : 'select segment, customer from member_before'
  await duck.run(`
    create view segment_members as
    select distinct segment_id, customer
    from (
      select segment, coalesce(redirect.customer, at_instant.customer) as customer
      from (${members}) as at_instant
      left join subject_redirect as redirect on redirect.subject = at_instant.customer
    )
    join segment_ids using (segment)
    ${models.some(({ name }) => name === CUSTOMERS) ? `semi join ${CUSTOMERS} using (customer)` : ''}`)
}

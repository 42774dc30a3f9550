import { join } from 'node:path'
import { generationSeen, modelPathsOf } from '../lake/generation.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Session } from '../lake/session.ts'
import type { Model } from '../model/graph.ts'
import { literal } from '../store/duckdb.ts'
import { OF_SEGMENTS } from './marts.ts'
import { salesMoved } from './moved.ts'
import { BOTH, startOf } from './part.ts'
import { type BrandRow, type Task, whyAnew } from './way.ts'

/** Marts of a small brand that are as they were published, and the file that has them. */
export interface Staying {
  names: ReadonlySet<string>
  path: string
}

/** Staging models of what was sold. */
const OF_SALES: ReadonlySet<string> = new Set(['stg_orders', 'stg_refunds', 'stg_products'])

/**
 * Most ticks bring visits only. The marts of what was sold are then not made again: of a small brand to plan and write
 * them takes a sixth of a refresh. Null when they are to be made. Leaves those that rules read in schema `published`.
 */
export async function stayingOf(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  { parts, models, recipe, options }: Task,
): Promise<Staying | null> {
  const { duck, manifest, asOf, isSmall } = session
  const start = startOf(brand, parts, [])
  if (!isSmall || !start || parts.size < BOTH.size || options.verify) return null
  const since = Math.min(...start.ticks)
  if (whyAnew(brand, manifest, { asOf, recipe, since, smallRows: 0 })) return null
  const published = await generationSeen(pipeline, session)
  if (!published || published.models_changes_path) return null
  const path = modelPathsOf(published).base
  const views = ['orders', 'rfm', 'churn'].map(
    (name) => `create view published.${name} as from staying.${name}`,
  )
  await duck.run(
    [
      `attach ${literal(join(session.lakeDir, path))} as staying (read_only)`,
      'create schema published',
      ...views,
    ].join('; '),
  )
  if (await salesMoved(session, brand.models_tick, start.from)) return null
  return { names: ofSales(models), path }
}

/** Stored marts that are made of nothing else, `customers` apart: of them they read what follows from sales and profiles. */
function ofSales(models: readonly Model[]): Set<string> {
  const named = new Map(models.map((model) => [model.name, model]))
  const seen = named.get(OF_SEGMENTS)?.seen
  const isSold = ({ layer, reads, sql }: Model): boolean =>
    layer === 'mart' &&
    !(seen && sql.includes(seen)) &&
    reads.every((name) => {
      const upstream = named.get(name)
      return name === 'params' || name === OF_SEGMENTS || OF_SALES.has(name) || (upstream && isSold(upstream))
    })
  return new Set(
    models.flatMap((model) =>
      model.stored && model.name !== OF_SEGMENTS && isSold(model) ? model.name : [],
    ),
  )
}

import { join } from 'node:path'
import { generationSeen, modelPathsOf } from '../lake/generation.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Session } from '../lake/session.ts'
import { literal } from '../store/duckdb.ts'
import type { BrandRow } from './brand-row.ts'
import { SCORES } from './built-in.ts'
import { salesMoved } from './moved.ts'
import { BOTH, startOf } from './part.ts'
import { parted } from './plan.ts'
import { isScored } from './scored.ts'
import { type Task, whyAnew } from './way.ts'

/** Marts of a small brand that are as they were published, and the file that has them. */
export interface Staying {
  names: ReadonlySet<string>
  path: string
  /** Something that is made, or a rule, reads scores. */
  scoresRead: boolean
}

/**
 * Most ticks bring visits only. The marts of what was sold are then not made again: of a small brand to plan and write
 * them takes a sixth of a refresh. Null when they are to be made. Leaves those that are read in schema `published`.
 */
export async function stayingOf(
  session: Session,
  pipeline: Pipeline,
  brand: BrandRow,
  { parts, models, turns, recipe, options }: Task,
): Promise<Staying | null> {
  const { duck, manifest, asOf, isSmall } = session
  const start = startOf(brand, parts, [])
  if (!isSmall || !start || parts.size < BOTH.size || options.verify) return null
  const since = Math.min(...start.ticks)
  if (whyAnew(brand, manifest, { asOf, recipe, since, smallRows: 0 })) return null
  const published = await generationSeen(pipeline, session)
  if (!published || published.models_changes_path) return null
  const path = modelPathsOf(published).base
  let opened: Promise<void> | undefined
  const open = () => (opened ??= openFile(session, path))
  if (await salesMoved(session, brand.models_tick, start.from, open)) return null
  const [stay, made] = parted(models, ({ stored, of }) => stored && of === 'sales')
  const names = new Set(stay.map(({ name }) => name))
  const read = new Set(made.flatMap(({ reads }) => reads.filter((name) => names.has(name))))
  const scoresRead = SCORES.some((name) => read.has(name)) || turns.due.some(isScored)
  if (scoresRead || read.size) await open()
  for (const name of read)
    if (!SCORES.includes(name)) await duck.run(`create view ${name} as from staying.${name}`)
  return { names, path, scoresRead }
}

/** Few ticks need it: only one that tells of somebody, or in which scores are read. */
async function openFile({ duck, lakeDir }: Session, path: string): Promise<void> {
  const views = ['orders', ...SCORES].map((name) => `create view published.${name} as from staying.${name}`)
  const attach = `attach ${literal(join(lakeDir, path))} as staying (read_only)`
  await duck.run([attach, 'create schema published', ...views].join('; '))
}

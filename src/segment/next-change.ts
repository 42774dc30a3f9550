import { laterFiles, sourceRows } from '../lake/manifest.ts'
import { type RelationName, sourceName } from '../lake/relations.ts'
import { type Session, SMALL_ROWS } from '../lake/session.ts'
import { instant } from '../store/duckdb.ts'
import { statement } from '../store/sqlfile.ts'
import { YEAR_10000 } from '../time.ts'
import { dueAt, type Turns } from './cadence.ts'
import type { Evaluation } from './evaluate.ts'
import { DATED_SOURCES, type DatedSource, type Slice, slicesOf } from './slices.ts'
import { planOf } from './way.ts'

/** When time alone changes an answer next, or the turn of a waiting segment comes. Null where finding out would take long, or something failed. */
export async function nextChangeOf(
  session: Session,
  { due, waiting }: Turns,
  { failed }: Evaluation,
): Promise<string | null> {
  const planned =
    failed.length || sourceRows(session.manifest) >= SMALL_ROWS ? null : planOf([...due, ...waiting])
  if (!planned) return null
  const next = await nextChange(session, slicesOf(planned))
  const turns = waiting.flatMap((segment) => dueAt(segment) ?? [])
  // Date counts milliseconds, times in the lake have microseconds.
  const first = Math.min(...turns, ...(next === null ? [] : [next + 1]))
  return first < YEAR_10000 ? new Date(first).toISOString() : 'infinity'
}

/**
 * The earliest instant after as_of that a slice passes a row at, or the next day begins at for a brand with orders, in
 * milliseconds; null when there is none.
 */
async function nextChange(
  { duck, asOf, sources, manifest }: Session,
  slices: readonly Slice[],
): Promise<number | null> {
  const has = (relation: RelationName) => laterFiles(manifest, relation, -1).length > 0
  const dated = Object.keys(DATED_SOURCES) as DatedSource[]
  const isEmpty = (source: DatedSource) => !sources.has(sourceName(source)) || !has(source)
  const empty = new Set(dated.filter(isEmpty).map(sourceName))
  const columns = Map.groupBy(slices, ({ relation, column }) => `${relation}.${column}`)
  const passes = [...columns.values()].flatMap((group) => {
    const [{ relation, column }] = group as [Slice]
    if (empty.has(relation)) return []
    // A row is passed next by the slice with the fewest days that has not passed it.
    const days = [...new Set(group.map(({ lessDays }) => Math.trunc(lessDays)))].sort((a, b) => a - b)
    const ahead = (less: number) => `${column} > ${instant(asOf, less)}`
    const next = days.map((less) => `when ${ahead(less)} then ${column} + to_days(${less})`)
    return `select min(case ${next.join(' ')} end) as moment from ${relation} where ${ahead(days.at(-1) ?? 0)}`
  })
  if (has('orders')) passes.push(statement('duckdb', 'next_day'))
  if (passes.length === 0) return null
  const [row] = await duck.rows<{ next: number | null }>(
    `select epoch_ms(min(moment)) as next from (${passes.join('\nunion all\n')})`,
  )
  return row?.next ?? null
}

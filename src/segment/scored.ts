import type { Model } from '../model/graph.ts'
import { runModels } from '../model/run.ts'
import type { Duck } from '../store/duckdb.ts'
import { parseSaved } from './definition.ts'
import type { SegmentRow } from './evaluate.ts'
import { compileOne } from './plan.ts'
import { mergeMarts } from './touched.ts'
import { type Condition, conditionsOf, type Test } from './tree.ts'

/** Marts of everyone that segments read: a score follows from the customers of the whole brand. */
const SCORES = ['rfm', 'churn']

/** Whether the members of a segment follow from what others bought. */
const isScored = (segment: SegmentRow): boolean =>
  conditionsIn(segment).some(({ test }) => test.of === 'rows' && SCORES.includes(test.source))

/** None of a definition that cannot be read: its segment fails, and shows it. */
function conditionsIn(segment: SegmentRow): Condition[] {
  try {
    return conditionsOf(parseSaved(segment))
  } catch {
    return []
  }
}

/** Segments whose members follow from nobody but the members: they read no scores, and refer to none that do. */
export function withoutScored(segments: readonly SegmentRow[]): SegmentRow[] {
  const scored = new Set<string>()
  for (let known = -1; known < scored.size; ) {
    known = scored.size
    for (const segment of segments)
      if (isScored(segment) || conditionsIn(segment).some(({ test }) => refersTo(test, scored)))
        scored.add(segment.id)
  }
  return segments.filter(({ id }) => !scored.has(id))
}

const refersTo = (test: Test, ids: ReadonlySet<string>) => test.of === 'segment' && ids.has(test.segmentId)

/**
 * Computes the scores that the segments due read, and adds to `touched` whom they make a member or none: one may move
 * to another tier though nothing of hers changed. Staging models have all rows again afterwards; the marts of the
 * touched customers are not there yet. False when no segment reads scores.
 */
export async function touchScored(
  duck: Duck,
  models: readonly Model[],
  due: readonly SegmentRow[],
): Promise<boolean> {
  const scored = due.filter(isScored)
  if (scored.length === 0) return false
  const needed = upstreamOf(SCORES, models)
  const marts = needed.filter(({ layer, by }) => layer === 'mart' && by)
  await runModels(duck.connection, marts)
  await mergeMarts(duck, needed)
  for (const segment of scored) {
    const { text, values } = compileOne(parseSaved(segment))
    await duck.run(`create table scored as ${text}`, values)
    const before = `select customer from member_before where segment = ${Math.trunc(segment.ordinal)}`
    await duck.run(`
      insert into touched
      select customer from (
        (from scored except ${before}) union ((${before}) except from scored)
      ) anti join touched using (customer)`)
    await duck.run('drop table scored')
  }
  for (const { name } of marts) {
    await duck.run(`drop view ${name}`)
    await duck.run(`drop table ${name}_touched`)
  }
  return true
}

/** Models by name with all that they are made of, in the order of the list. */
function upstreamOf(names: readonly string[], models: readonly Model[]): Model[] {
  const wanted = new Set(names)
  for (const model of [...models].reverse())
    if (wanted.has(model.name)) for (const name of model.reads) wanted.add(name)
  return models.filter(({ name }) => wanted.has(name))
}

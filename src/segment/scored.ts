import { type Model, upstreamOf } from '../model/graph.ts'
import { runModels } from '../model/run.ts'
import type { Duck } from '../store/duckdb.ts'
import { SCORES } from './built-in.ts'
import { parseSaved } from './definition.ts'
import type { SegmentRow } from './evaluate.ts'
import { compileOne } from './plan.ts'
import { mergeMarts } from './touched.ts'
import { type Condition, conditionsOf, type Test } from './tree.ts'

/** Whether the members of a segment follow from what others bought. */
export const isScored = (segment: SegmentRow): boolean =>
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
  // As views they can be replaced, once those of the file that is published are there.
  for (const name of SCORES) {
    await duck.run(`alter table ${name} rename to ${name}_now`)
    await duck.run(`create view ${name} as from ${name}_now`)
  }
  await touchMoved(duck, scored)
  for (const { name } of marts) {
    await duck.run(`drop view ${name}`)
    await duck.run(`drop table ${name}_touched`)
  }
  return true
}

/** The same by the scores that were published last, which stay in the session. */
export async function touchPublishedScores(duck: Duck, due: readonly SegmentRow[]): Promise<void> {
  await openPublishedScores(duck)
  const scored = due.filter(isScored)
  if (scored.length === 0) return
  await duck.run('create view customers as from published.customers')
  await touchMoved(duck, scored)
  await duck.run('drop view customers')
}

export async function openPublishedScores(duck: Duck): Promise<void> {
  await duck.run(SCORES.map((name) => `create view ${name} as from published.${name}`).join('; '))
}

async function touchMoved(duck: Duck, scored: readonly SegmentRow[]): Promise<void> {
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
}

import { errorFields, log } from '../log.ts'
import type { Duck } from '../store/duckdb.ts'
import { type Definition, parseSaved } from './definition.ts'
import { compileOne, compileSegments, inLevels } from './plan.ts'

export interface SegmentRow {
  id: string
  ordinal: number
  version: number
  evaluated_version: number | null
  /** It could not be evaluated the last time. */
  failed: boolean
  definition: unknown
  created_by: string
  /** Null: evaluated in every refresh. */
  every_minutes: number | null
  evaluated_at: Date | null
  /** Tick of the sources that the last evaluation read. */
  evaluated_tick: number | null
}

export interface Evaluation {
  /** Segments whose members are in table `evaluated (segment, customer)`. */
  evaluated: SegmentRow[]
  failed: { segment: SegmentRow; error: string }[]
}

interface Parsed {
  id: string
  ordinal: number
  segment: SegmentRow
  tree: Definition
}

/**
 * Computes the members of all segments into the table `evaluated (segment integer, customer integer)` of the session,
 * each after those that it refers to. A segment that cannot be evaluated stands in `failed`, keeps the members that
 * `member_before` has, and stops no other; so do those that wait for their turn.
 */
export async function evaluateSegments(
  duck: Duck,
  segments: readonly SegmentRow[],
  waiting: readonly SegmentRow[] = [],
): Promise<Evaluation> {
  const failed: Evaluation['failed'] = []
  const parsed: Parsed[] = []
  for (const segment of segments) {
    try {
      parsed.push({ ...segment, segment, tree: parseSaved(segment) })
    } catch (error) {
      failed.push({ segment, error: messageOf(error) })
    }
  }
  await openEvaluated(duck, [...segments, ...waiting])
  await keep(duck, [...failed.map((each) => each.segment), ...waiting])
  if (parsed.length === 0) return { evaluated: [], failed }
  try {
    const { statements, levels } = compileSegments(parsed)
    for (const { text, values } of statements) await duck.run(text, values)
    for (const level of levels) {
      for (const { text, values } of level.statements) await duck.run(text, values)
      await duck.run(`insert into evaluated ${level.members.text}`, level.members.values)
    }
    return { evaluated: parsed.map(({ segment }) => segment), failed }
  } catch (error) {
    // One statement serves many segments: find the one that it fails for.
    log('warn', 'shared_evaluation_failed', errorFields(error))
    await duck.run('delete from evaluated')
    return await oneByOne(duck, parsed, failed)
  }
}

async function oneByOne(duck: Duck, parsed: readonly Parsed[], failed: Evaluation['failed']) {
  const evaluated: SegmentRow[] = []
  for (const { segment, tree } of inLevels(parsed).flat()) {
    try {
      const { text, values } = compileOne(tree)
      await duck.run(
        `insert into evaluated select ${Math.trunc(segment.ordinal)}, customer from (${text})`,
        values,
      )
      evaluated.push(segment)
    } catch (cause) {
      failed.push({ segment, error: messageOf(cause) })
      await keep(duck, [segment])
    }
  }
  return { evaluated, failed }
}

/** `evaluated`, and `segment_members` over it: what conditions on another segment read. */
async function openEvaluated(duck: Duck, segments: readonly SegmentRow[]): Promise<void> {
  await duck.run('create table evaluated (segment integer, customer integer)')
  await duck.run('create table kept_members (segment integer, customer integer)')
  await duck.run('create table segment_ids (segment integer, segment_id varchar)')
  const rows = segments.map(({ ordinal, id }) => [ordinal, id])
  await duck.run(
    `insert into segment_ids
     select (pair ->> 0)::integer, pair ->> 1 from (select unnest($1::json::json[]) as pair)`,
    [JSON.stringify(rows)],
  )
  await duck.run(`
    create or replace view segment_members as
    select segment_id, customer from (from evaluated union all from kept_members) join segment_ids using (segment)`)
}

async function keep(duck: Duck, segments: readonly SegmentRow[]): Promise<void> {
  const ordinals = segments.map(({ ordinal }) => Math.trunc(ordinal))
  if (ordinals.length)
    await duck.run(
      `insert into kept_members select segment, customer from member_before where segment in (${ordinals.join(', ')})`,
    )
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

import type { Session } from '../lake/session.ts'
import { errorFields, log } from '../log.ts'
import type { Duck } from '../store/duckdb.ts'
import { amongSegments } from './among.ts'
import { type Definition, parseSaved } from './definition.ts'
import { type MemberColumn, memberRows } from './dialect/duckdb/member-columns.ts'
import type { Sql } from './dialect/duckdb/parameter.ts'
import type { Hollow } from './dialect/duckdb.ts'
import type { Asked } from './held.ts'
import { OF_LAKE, openSegmentIds } from './members.ts'
import { compileOne, compileSegments, inLevels, parted } from './plan.ts'
import { referencesOf } from './tree.ts'

export interface SegmentRow {
  id: string
  ordinal: number
  version: number
  evaluated_version: number | null
  /** It could not be evaluated the last time. */
  failed: boolean
  /** JSON text. */
  definition: string
  created_by: string
  /** Null: evaluated in every refresh. */
  every_minutes: number | null
  /** Members who are shown. */
  member_count: number
  /** Members that the last evaluation found. */
  evaluated_count: number
  evaluated_at: Date | null
  /** Tick of the sources that the last evaluation read. */
  evaluated_tick: number | null
}

export interface Evaluation {
  evaluated: SegmentRow[]
  /** The members of those; null: the rows of table `evaluated (segment, customer)`. */
  members: readonly MemberColumn[] | null
  failed: { segment: SegmentRow; error: string }[]
}

interface Parsed {
  id: string
  ordinal: number
  segment: SegmentRow
  tree: Definition
}

export interface EvaluateOptions {
  /** Segments that keep their members. */
  waiting?: readonly SegmentRow[]
  /** The only memberships that are computed. */
  asked?: Asked | undefined
  /** Models without rows. */
  hollow?: Hollow
}

/**
 * Computes the members of all segments, each after those that it refers to, as columns of temporary tables: to write
 * 11M rows of them took 0.7 s of CPU. A segment that cannot be evaluated stands in `failed`, keeps the members that
 * `member_before` has, and stops no other; so do those that wait for their turn. `asked`: only memberships that it says
 * are computed; those of the touched customers that hold are taken from `touched_before`, and all are rows.
 */
export async function evaluateSegments(
  { duck, asOf, isSmall }: Pick<Session, 'duck' | 'asOf' | 'isSmall'>,
  segments: readonly SegmentRow[],
  { waiting = [], asked, hollow }: EvaluateOptions = {},
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
  const rows = { duck, parsed, asked }
  const refer = parsed.some(({ tree }) => referencesOf(tree).length > 0)
  if (asked) await openRows(rows)
  else if (refer) await showRows(duck, [])
  if (refer) await openSegmentMembers(duck, [...segments, ...waiting])
  const keep = async (kept: readonly SegmentRow[]) => {
    if (refer) await keepMembers(duck, kept, asked !== undefined)
  }
  await keep([...failed.map((each) => each.segment), ...waiting])
  const [wanted, held] = parted(parsed, ({ ordinal }) => !asked || asked.segments.has(ordinal))
  const members: MemberColumn[] = []
  const evaluated = ({ segment }: Parsed) => segment
  if (wanted.length === 0) return { evaluated: held.map(evaluated), members: asked ? null : members, failed }
  try {
    const { statements, levels } = compileSegments(wanted, asOf, { few: isSmall, hollow })
    for (const { text, values } of statements) await duck.run(text, values)
    for (const level of levels) {
      for (const { text, values } of level.statements) await duck.run(text, values)
      members.push(...level.members)
      if (asked) await addRows(rows, { text: memberRows(level.members), values: [] })
      else if (refer) await showRows(duck, members)
    }
    return { evaluated: parsed.map(evaluated), members: asked ? null : members, failed }
  } catch (error) {
    // One statement serves many segments: find the one that it fails for.
    log('warn', 'shared_evaluation_failed', errorFields(error))
    await duck.run(`drop ${asked ? 'table' : 'view if exists'} evaluated`)
    await openRows(rows)
    return await oneByOne(rows, wanted, keep, { evaluated: held.map(evaluated), members: null, failed })
  }
}

interface Rows {
  duck: Duck
  parsed: readonly Parsed[]
  asked: Asked | undefined
}

/** Makes `evaluated`, with the memberships that are not looked at. */
async function openRows({ duck, parsed, asked }: Rows): Promise<void> {
  await duck.run('create table evaluated (segment integer, customer integer)')
  if (asked)
    await duck.run(`
      insert into evaluated
      select segment, customer from touched_before
      join asked_places using (segment) join asked using (customer)
      where ${amongSegments(parsed)} and not ${IS_ASKED}`)
}

async function addRows({ duck, asked }: Rows, { text, values }: Sql): Promise<void> {
  await duck.run(
    `insert into evaluated ${asked ? `select segment, customer from (${text}) ${ASKED}` : text}`,
    values,
  )
}

/** Members as rows, for what reads some of them. */
const showRows = (duck: Duck, members: readonly MemberColumn[]) =>
  duck.run(`create or replace view evaluated as\n${memberRows(members)}`)

const IS_ASKED = '((asked.words[asked_places.word] & asked_places.mask) != 0)'

/** Keeps those of a relation (segment, customer) that are looked at. */
const ASKED = `join asked_places using (segment) join asked using (customer) where ${IS_ASKED}`

async function oneByOne(
  rows: Rows,
  wanted: readonly Parsed[],
  keep: (segments: readonly SegmentRow[]) => Promise<void>,
  { evaluated, members, failed }: Evaluation,
): Promise<Evaluation> {
  for (const { segment, tree } of inLevels(wanted).flat()) {
    try {
      const { text, values } = compileOne(tree)
      await addRows(rows, {
        text: `select ${Math.trunc(segment.ordinal)} as segment, customer from (${text})`,
        values,
      })
      evaluated.push(segment)
    } catch (cause) {
      failed.push({ segment, error: messageOf(cause) })
      await keep([segment])
    }
  }
  return { evaluated, members, failed }
}

/** `segment_members` over `evaluated` and those that segments keep: what conditions on another segment read. */
async function openSegmentMembers(duck: Duck, segments: readonly SegmentRow[]): Promise<void> {
  await duck.run('create table kept_members (segment integer, customer integer)')
  await openSegmentIds(duck, segments)
  await duck.run(`
    create or replace view segment_members as
    select segment_id, customer from (from evaluated union all from kept_members) join segment_ids using (segment)`)
}

/**
 * Members as the lake has them: what is published has none who were merged into another, who is the member until the turn
 * of the segment comes.
 */
async function keepMembers(duck: Duck, segments: readonly SegmentRow[], ofTouched: boolean): Promise<void> {
  if (segments.length)
    await duck.run(`
      insert into kept_members
      select distinct segment, coalesce(redirect.customer, before.customer) as owner
      from ${ofTouched ? OF_LAKE : 'member_before'} as before
      left join subject_redirect as redirect on redirect.subject = before.customer
      where ${amongSegments(segments)}${ofTouched ? ' and owner in (select customer from touched)' : ''}`)
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

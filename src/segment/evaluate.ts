import { errorFields, log } from '../log.ts'
import type { Duck } from '../store/duckdb.ts'
import { type Definition, parseDefinition } from './definition.ts'
import { compileOne, compileSegments } from './plan.ts'

export interface SegmentRow {
  id: string
  ordinal: number
  version: number
  evaluated_version: number | null
  definition: unknown
}

export interface Evaluation {
  /** Segments whose members are in table `evaluated (segment, customer)`. */
  evaluated: SegmentRow[]
  failed: { segment: SegmentRow; error: string }[]
}

/**
 * Computes the members of all segments into the table `evaluated (segment integer, customer integer)` of the session.
 * A segment that cannot be evaluated stands in `failed` and stops no other.
 */
export async function evaluateSegments(duck: Duck, segments: readonly SegmentRow[]): Promise<Evaluation> {
  await duck.run('create table evaluated (segment integer, customer integer)')
  const failed: Evaluation['failed'] = []
  const trees: { segment: SegmentRow; tree: Definition }[] = []
  for (const segment of segments) {
    try {
      trees.push({ segment, tree: parseDefinition(segment.definition) })
    } catch (error) {
      failed.push({ segment, error: messageOf(error) })
    }
  }
  if (trees.length === 0) return { evaluated: [], failed }
  try {
    const { statements, members } = compileSegments(
      trees.map(({ segment, tree }) => ({ ordinal: segment.ordinal, tree })),
    )
    for (const { text, values } of statements) await duck.run(text, values)
    await duck.run(`insert into evaluated select segment, customer from (${members.text})`, members.values)
    return { evaluated: trees.map(({ segment }) => segment), failed }
  } catch (error) {
    // One statement serves many segments: find the one that it fails for.
    log('warn', 'shared_evaluation_failed', errorFields(error))
    await duck.run('delete from evaluated')
    const evaluated: SegmentRow[] = []
    for (const { segment, tree } of trees) {
      try {
        const { text, values } = compileOne(tree)
        await duck.run(`insert into evaluated select ${segment.ordinal}, customer from (${text})`, values)
        evaluated.push(segment)
      } catch (cause) {
        failed.push({ segment, error: messageOf(cause) })
      }
    }
    return { evaluated, failed }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
